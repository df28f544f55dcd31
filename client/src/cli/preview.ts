import { type Disk, FolderState, NodeDisk, type StateFile } from '../folder/index.js';
import { readFile } from 'node:fs/promises';

/** A copy of the journal in memory: what is written to it is forgotten. Another process may go on with the file. */
export class JournalCopy implements StateFile {
  /** Whether the end of the journal was not whole. */
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

  /** What the journal adds up to now. */
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

/** A folder that is only looked at: its marker is renewed in memory, and what another process has staged stays. */
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
