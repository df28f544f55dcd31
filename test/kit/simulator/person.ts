import { parentsOf } from '../../../client/src/folder/trees.js';
import type { Ledger } from './ledger.js';
import { type Node, Volume } from './volume.js';

/** What a person does in a folder, with any program. Impossible actions are skipped. */
export class Person {
  constructor(
    private readonly volume: () => Volume,
    private readonly ledger: Ledger,
  ) {}

  /** Writes into an existing file in place, or creates it. */
  save(path: string, text: string): void {
    this.does((volume) => {
      if (volume.isFull) return;
      const node = volume.look(path);
      if (node?.kind === 'file') {
        this.holds(text);
        this.drops(node.text, path);
        node.text = text;
        node.mtimeNs = node.ctimeNs = volume.time();
      } else if (!node) this.create(volume, path, text);
    });
  }

  /** Replaces a file by another one, as editors do. */
  replace(path: string, text: string): void {
    this.does((volume) => {
      const node = volume.look(path);
      if (volume.isFull || node?.kind !== 'file') return;
      const file = volume.file(text);
      this.holds(text);
      this.drops(node.text, path);
      volume.put(path, file);
    });
  }

  delete(path: string): void {
    this.does((volume) => this.forgetAll(volume.take(path), path));
  }

  /** Renames a file or directory, replacing what is there. */
  rename(from: string, to: string): void {
    this.does((volume) => {
      const node = volume.look(from);
      if (!node || from === to || from.startsWith(`${to}/`)) return;
      // A directory cannot be moved into itself, whatever the spelling.
      if (parentsOf(to).some((parent) => volume.look(parent) === node)) return;
      volume.makeParents(to);
      const before = volume.look(to);
      if (before && before !== node && (before.kind === 'directory') !== (node.kind === 'directory')) return;
      if (before?.kind === 'directory' && before !== node && before.entries.size > 0) return;
      if (!volume.canBeNamed(to)) return;
      volume.take(from);
      if (before && before !== node) this.forgetAll(volume.take(to), to);
      volume.put(to, node);
      this.moves(node);
      node.ctimeNs = volume.time();
    });
  }

  touch(path: string): void {
    this.does((volume) => {
      const node = volume.look(path);
      if (node) node.mtimeNs = node.ctimeNs = volume.time();
    });
  }

  mkdir(path: string): void {
    this.does((volume) => volume.makeParents(`${path}/x`));
  }

  /** Replaces a file or directory, whose files are deleted, by a link. */
  link(path: string): void {
    this.does((volume) => {
      if (!volume.canBeNamed(path)) return;
      volume.makeParents(path);
      const node = volume.look(path);
      if (node) this.forgetAll(volume.take(path), path);
      volume.put(path, volume.link());
    });
  }

  setReadable(path: string, isReadable: boolean): void {
    const node = this.volume().look(path);
    if (node?.kind !== 'file') return;
    node.isReadable = isReadable;
    node.ctimeNs = this.volume().time();
  }

  private moves(node: Node): void {
    if (node.kind === 'file') this.ledger.move(node.text, this);
    if (node.kind === 'directory') for (const below of node.entries.values()) this.moves(below);
  }

  private create(volume: Volume, path: string, text: string): void {
    volume.makeParents(path);
    volume.put(path, volume.file(text));
    this.holds(text);
  }

  private holds(text: string): void {
    this.ledger.save(text);
    this.ledger.hold(text);
  }

  private drops(text: string, where: string): void {
    this.ledger.retire(text);
    this.ledger.release(text, 'person', where);
  }

  private forgetAll(node: Node, path: string): void {
    if (node.kind === 'file') this.drops(node.text, path);
    if (node.kind === 'directory')
      for (const [name, below] of node.entries) this.forgetAll(below, `${path}/${name}`);
  }

  private does(what: (volume: Volume) => void): void {
    try {
      if (!this.volume().isReadOnly) what(this.volume());
    } catch (error) {
      if ((error as Error).name !== 'DiskError') throw error;
    }
  }
}

/** Copies the files of a volume to another one, like a copying program. */
export function copyOf(volume: Volume, to: Volume): void {
  const copy = (node: Node, path: string): void => {
    // Of names that are equal on the other disk the first is copied; names that it refuses are skipped.
    if (path !== '' && (!to.canBeNamed(path) || (to.look(path) && node.kind !== 'directory'))) return;
    if (node.kind === 'directory') {
      const there = to.look(path);
      if (there && there.kind !== 'directory') return;
      if (path !== '') to.makeParents(`${path}/x`);
      for (const [name, below] of node.entries) copy(below, path === '' ? name : `${path}/${name}`);
    } else if (node.kind === 'link') to.put(path, to.link());
    else {
      to.ledger.hold(node.text);
      to.put(path, { ...to.file(node.text), mtimeNs: node.mtimeNs });
    }
  };
  copy(volume.root, '');
  to.marker = volume.marker;
}
