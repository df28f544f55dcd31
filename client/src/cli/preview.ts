import { type Disk, FolderState, NodeDisk, type StateFile } from '../folder/index.js';
import { readFile } from 'node:fs/promises';

/** A copy of the journal in memory. Discards writes, so another process can keep using the file. */
export class JournalCopy implements StateFile {
  /** Whether the journal ended in a torn record. */
  wasCut = false;

  private constructor(private bytes: Uint8Array) {}

  static async of(path: string): Promise<JournalCopy> {
    try {
      return new JournalCopy(await readFile(path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new JournalCopy(new Uint8Array());
      throw error;
    }
  }

  /** The state that the journal adds up to now. */
  state(): Promise<FolderState> {
    return FolderState.open(this);
  }

  read(): Promise<Uint8Array> {
    return Promise.resolve(this.bytes);
  }

  truncate(length: number): Promise<void> {
    this.wasCut = true;
    this.bytes = this.bytes.slice(0, length);
    return Promise.resolve();
  }

  append(bytes: Uint8Array): Promise<void> {
    this.bytes = new Uint8Array(Buffer.concat([this.bytes, bytes]));
    return Promise.resolve();
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  replace(bytes: Uint8Array): Promise<void> {
    this.bytes = bytes;
    return Promise.resolve();
  }
}

/** A read-only view of a folder: keeps a new marker in memory, and leaves files staged by another process. */
export class ViewedDisk extends NodeDisk implements Disk {
  private marker: string | undefined;

  override async readMarker(): Promise<string | undefined> {
    return this.marker ?? (await super.readMarker());
  }

  override writeMarker(text: string): Promise<void> {
    this.marker = text;
    return Promise.resolve();
  }

  override clearStaging(): Promise<void> {
    return Promise.resolve();
  }
}
