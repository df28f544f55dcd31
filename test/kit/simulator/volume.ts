import { DiskError } from '../../../client/src/folder/errors.js';
import type { Traits } from '../../../client/src/folder/names.js';
import type { Stat } from '../../../client/src/folder/ports.js';
import type { Ledger } from './ledger.js';

export interface Nature {
  readonly foldsCase: boolean;
  /** Returns names decomposed, in whatever form they were written. */
  readonly givesNfd: boolean;
  readonly wholeSeconds: boolean;
  readonly maxName: number;
}

interface Common {
  readonly ino: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
}
export type FileNode = Common & { kind: 'file'; text: string; isReadable: boolean };
export type DirectoryNode = Common & { kind: 'directory'; entries: Map<string, Node> };
export type Node = FileNode | DirectoryNode | (Common & { kind: 'link' });

interface Place {
  readonly parent: DirectoryNode;
  /** As it is spelled on the disk, if it exists. */
  readonly name: string;
  readonly node: Node | undefined;
}

export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** A simulated disk with one folder, and the behaviour of its system. */
export class Volume {
  marker: string | undefined;
  readonly staged = new Map<string, string>();
  isFull = false;
  isReadOnly = false;
  private inodes = 1n;
  root = this.directory();
  private undo: { directories: string[]; undo: () => void }[] = [];

  constructor(
    readonly nature: Nature,
    private readonly now: () => number,
    readonly ledger: Ledger,
  ) {}

  get traits(): Traits {
    const { foldsCase, givesNfd, maxName } = this.nature;
    return {
      foldsCase,
      foldsUnicode: foldsCase || givesNfd,
      nameUnit: 'bytes',
      maxName,
      maxPathBytes: 1_000,
      windowsCharacters: false,
      windowsDevices: false,
    };
  }

  stat(node: Node): Stat {
    const { kind, mtimeNs, ctimeNs, ino } = node;
    return { kind, size: node.kind === 'file' ? bytesOf(node.text) : 0, mtimeNs, ctimeNs, ino };
  }

  /** @throws DiskError when a parent does not exist or is not a directory */
  find(path: string): Place {
    const names = path.split('/');
    let parent: DirectoryNode = this.root;
    for (const name of names.slice(0, -1)) {
      const next = this.entry(parent, name).node;
      if (!next) throw new DiskError('absent', 'there is no such directory');
      if (next.kind !== 'directory')
        throw new DiskError('in-the-way', 'something else is in the place of a directory');
      parent = next;
    }
    return { parent, ...this.entry(parent, names.at(-1) ?? '') };
  }

  look(path: string): Node | undefined {
    if (path === '') return this.root;
    try {
      return this.find(path).node;
    } catch {
      return undefined;
    }
  }

  /** Every file, by its exact path. */
  *files(directory: DirectoryNode = this.root, prefix = ''): Iterable<[string, FileNode]> {
    for (const [name, node] of directory.entries) {
      if (node.kind === 'file') yield [prefix + name, node];
      else if (node.kind === 'directory') yield* this.files(node, `${prefix + name}/`);
    }
  }

  makeParents(path: string): void {
    const names = path.split('/').slice(0, -1);
    let parent = this.root;
    for (const name of names) {
      const { name: exact, node } = this.entry(parent, name);
      if (node && node.kind !== 'directory')
        throw new DiskError('in-the-way', 'something else is in the place of a directory');
      if (!node) this.mayCreate(name);
      const next = node ?? this.directory();
      parent.entries.set(exact, next);
      parent = next;
    }
  }

  /** Puts a node there, replacing what is there, whose spelling stays. */
  put(path: string, node: Node): void {
    const { parent, name } = this.find(path);
    this.mayCreate(name);
    parent.entries.set(name, node);
  }

  take(path: string): Node {
    const { parent, name, node } = this.find(path);
    if (!node) throw new DiskError('absent', 'there is no such file');
    parent.entries.delete(name);
    return node;
  }

  file(text: string): FileNode {
    const at = this.time();
    return { kind: 'file', text, isReadable: true, ino: ++this.inodes, mtimeNs: at, ctimeNs: at };
  }

  link(): Node {
    const at = this.time();
    return { kind: 'link', ino: ++this.inodes, mtimeNs: at, ctimeNs: at };
  }

  directory(): DirectoryNode {
    return { kind: 'directory', entries: new Map(), ino: ++this.inodes, mtimeNs: 0n, ctimeNs: 0n };
  }

  time(): bigint {
    const ms = BigInt(this.now());
    return this.nature.wholeSeconds ? (ms / 1_000n) * 1_000_000_000n : ms * 1_000_000n;
  }

  mayWrite(): void {
    if (this.isReadOnly) throw new DiskError('read-only', 'the disk is read-only');
  }

  canBeNamed(path: string): boolean {
    return path.split('/').every((name) => bytesOf(name) <= this.nature.maxName);
  }

  private mayCreate(name: string): void {
    if (bytesOf(name) > this.nature.maxName) throw new DiskError('name', 'the name is too long');
  }

  /** Names are durable once their directories were flushed; until then a loss of power may undo a change. */
  canBeUndone(directories: string[], undo: () => void): void {
    this.undo.push({ directories, undo });
  }

  flush(directories: ReadonlySet<string>): void {
    this.undo = this.undo.filter(
      ({ directories: touched }) => !touched.every((path) => directories.has(path)),
    );
  }

  losePower(share: number): void {
    const lost = this.undo.splice(Math.ceil(this.undo.length * share));
    for (const { undo } of lost.reverse()) undo();
    this.undo = [];
    this.staged.clear();
  }

  private entry(parent: DirectoryNode, name: string): { name: string; node: Node | undefined } {
    const stored = this.nature.givesNfd ? name.normalize('NFD') : name;
    const exact = parent.entries.get(stored);
    if (exact || !this.traits.foldsUnicode) return { name: stored, node: exact };
    const key = this.key(stored);
    for (const [other, node] of parent.entries) if (this.key(other) === key) return { name: other, node };
    return { name: stored, node: undefined };
  }

  private key(name: string): string {
    const normal = name.normalize('NFD');
    return this.nature.foldsCase ? normal.toLowerCase() : normal;
  }
}
