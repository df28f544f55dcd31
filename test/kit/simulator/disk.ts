import { DiskError } from '../../../client/src/folder/errors.js';
import type { Disk, Entry, Stat } from '../../../client/src/folder/ports.js';
import { isSameStat } from '../../../client/src/folder/stamps.js';
import { parentOf } from '../../../client/src/folder/trees.js';
import type { Traits } from '../../../client/src/folder/names.js';
import type { Steps } from './steps.js';
import type { FileNode, Node, Volume } from './volume.js';

/** The folder as one process sees it. */
export class SimulatedDisk implements Disk {
  constructor(
    private readonly volume: Volume,
    private readonly steps: Steps,
  ) {}

  async traits(): Promise<Traits> {
    await this.steps.next();
    return this.volume.traits;
  }

  async list(path: string): Promise<Entry[]> {
    await this.steps.next();
    if (!this.volume.canBeNamed(path)) throw new DiskError('name', 'the name is too long');
    const node = path === '' ? this.volume.root : this.volume.find(path).node;
    if (!node) throw new DiskError('absent', 'there is no such directory');
    if (node.kind !== 'directory') throw new DiskError('in-the-way', 'it is no directory');
    return Array.from(node.entries, ([name, entry]) => ({
      name,
      shown: name,
      stat: this.volume.stat(entry),
    }));
  }

  async stat(path: string): Promise<Stat | undefined> {
    await this.steps.next();
    const node = this.volume.look(path);
    return node && this.volume.stat(node);
  }

  async *read(path: string, expected: Stat): AsyncIterable<Uint8Array> {
    await this.steps.next();
    const file = this.expected(path, expected);
    if (!file.isReadable) throw new DiskError('denied', 'no permission to read it');
    const bytes = new TextEncoder().encode(file.text);
    yield bytes.slice(0, 2);
    await this.steps.next();
    // A write in between is visible, mixed with the content before.
    yield new TextEncoder().encode(file.text).slice(2);
    this.expected(path, expected);
  }

  async stage(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<string> {
    await this.steps.next();
    this.volume.mayWrite();
    const text = await this.written(content);
    if (this.volume.isFull) throw new DiskError('full', 'the disk is full');
    const name = `staged-${this.volume.staged.size}-${this.steps.count}`;
    this.volume.staged.set(name, text);
    return name;
  }

  async *readStaged(staged: string): AsyncIterable<Uint8Array> {
    const text = this.volume.staged.get(staged);
    if (text === undefined) throw new DiskError('absent', 'it was never staged');
    for (const half of [text.slice(0, 30), text.slice(30)]) {
      await this.steps.next();
      yield Buffer.from(half, 'latin1');
    }
  }

  /** Envelopes are staged too, so the text has a character for each byte. */
  private async written(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<string> {
    if (content instanceof Uint8Array) return Buffer.from(content).toString('latin1');
    const parts: Uint8Array[] = [];
    for await (const part of content) {
      await this.steps.next();
      if (this.volume.isFull) throw new DiskError('full', 'the disk is full');
      parts.push(part);
    }
    return Buffer.concat(parts).toString('latin1');
  }

  async place(staged: string, path: string, expected: Stat | undefined): Promise<Stat> {
    await this.steps.next();
    const { volume } = this;
    volume.mayWrite();
    const text = volume.staged.get(staged);
    if (text === undefined) throw new DiskError('absent', 'it was never staged');
    volume.makeParents(path);
    const { node: before } = volume.find(path);
    if (expected) this.expected(path, expected);
    else if (before) throw new DiskError('exists', 'the name is taken');
    const file = volume.file(text);
    volume.put(path, file);
    volume.staged.delete(staged);
    volume.ledger.hold(text);
    if (before?.kind === 'file') volume.ledger.release(before.text, 'client', `writing ${path}`);
    volume.canBeUndone([parentOf(path)], () => {
      if (volume.look(path) !== file) return;
      if (before?.kind === 'file') volume.ledger.hold(before.text);
      volume.take(path);
      if (before) volume.put(path, before);
      volume.ledger.release(file.text, 'client', `power lost after writing ${path}`);
    });
    return volume.stat(file);
  }

  async discard(staged: string): Promise<void> {
    await this.steps.next();
    this.volume.staged.delete(staged);
  }

  async rename(from: string, to: string, expected: Stat): Promise<Stat> {
    await this.steps.next();
    const { volume } = this;
    volume.mayWrite();
    const file = this.expected(from, expected);
    if (volume.find(to).node) throw new DiskError('exists', 'the name is taken');
    volume.take(from);
    volume.put(to, file);
    file.ctimeNs = volume.time();
    volume.canBeUndone([parentOf(from), parentOf(to)], () => {
      if (volume.look(to) !== file || volume.look(from)) return;
      volume.take(to);
      volume.makeParents(from);
      volume.put(from, file);
    });
    return volume.stat(file);
  }

  async remove(path: string, expected: Stat): Promise<void> {
    await this.steps.next();
    const { volume } = this;
    volume.mayWrite();
    const file = this.expected(path, expected);
    volume.take(path);
    volume.ledger.release(file.text, 'client', `deleting ${path}`);
    volume.canBeUndone([parentOf(path)], () => {
      if (volume.look(path)) return;
      try {
        volume.makeParents(path);
      } catch {
        return;
      }
      volume.put(path, file);
      volume.ledger.hold(file.text);
    });
  }

  async removeDirectory(path: string): Promise<boolean> {
    await this.steps.next();
    this.volume.mayWrite();
    const node = this.volume.look(path);
    if (node?.kind !== 'directory' || node.entries.size > 0) return false;
    this.volume.take(path);
    return true;
  }

  async flush(directories: Iterable<string>): Promise<void> {
    await this.steps.next();
    this.volume.flush(new Set(directories));
  }

  async readMarker(): Promise<string | undefined> {
    await this.steps.next();
    return this.volume.marker;
  }

  async writeMarker(text: string, expected: string | undefined): Promise<void> {
    await this.steps.next();
    if (this.volume.marker !== expected) throw new DiskError('changed', 'the folder is another now');
    this.volume.mayWrite();
    if (this.volume.isFull) throw new DiskError('full', 'the disk is full');
    this.volume.marker = text;
  }

  async clearStaging(): Promise<void> {
    await this.steps.next();
    this.volume.staged.clear();
  }

  async freeBytes(): Promise<number> {
    await this.steps.next();
    return this.volume.isFull ? 0 : 1e9;
  }

  private expected(path: string, expected: Stat): FileNode {
    const { node } = this.volume.find(path);
    if (!isFile(node) || !isSameStat(this.volume.stat(node), expected))
      throw new DiskError('changed', 'it is another file now');
    return node;
  }
}

const isFile = (node: Node | undefined): node is FileNode => node?.kind === 'file';
