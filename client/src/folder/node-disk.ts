import { randomUUID } from 'node:crypto';
import {
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { mkdir, readdir, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { OWN_DIRECTORY } from './dangerous.js';
import { DiskError } from './errors.js';
import type { Traits } from './names.js';
import { onDisk } from './node-errors.js';
import { chunksOf, writeNew } from './node-contents.js';
import { checkSame, copyPermissions, entryOf, moveToFreeName, mustBe, statOf } from './node-files.js';
import type { Disk, DiskPath, Entry, Stat, Staged } from './ports.js';
import { probeTraits } from './probe.js';
import { inParent } from './safe-parents.js';
import { joined, nameOf, parentOf } from './trees.js';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const MARKER = 'folder.json';
const STAGING = 'staging';

/**
 * A directory of this machine. A check and the operation that relies on it run synchronously together, which leaves other
 * processes only microseconds in between. Metadata is also read synchronously, because that is many times faster.
 */
export class NodeDisk implements Disk {
  private known: Promise<Traits> | undefined;

  /** @param root an existing directory */
  constructor(private readonly root: string) {}

  traits(): Promise<Traits> {
    this.known ??= onDisk(async () => probeTraits(await this.staging()));
    return this.known;
  }

  list(directory: DiskPath): Promise<Entry[]> {
    return onDisk(() =>
      inParent(this.root, joined(directory, 'x'), false, (address) =>
        readdirSync(address).flatMap((name) => {
          if (directory === '' && name === OWN_DIRECTORY) return [];
          return entryOf(address, name) ?? [];
        }),
      ),
    );
  }

  stat(path: DiskPath): Promise<Stat | undefined> {
    return onDisk(() => this.lookAt(path));
  }

  async *read(path: DiskPath, expected: Stat): AsyncIterable<Uint8Array> {
    const descriptor = await onDisk(() => this.openForReading(path));
    try {
      await mustBe(descriptor, expected);
      yield* chunksOf(descriptor, expected.size);
      await mustBe(descriptor, expected);
    } finally {
      closeSync(descriptor);
    }
  }

  async stage(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<Staged> {
    const staged = await onDisk(async () => join(await this.staging(), randomUUID()));
    await writeNew(staged, content);
    return staged;
  }

  async *readStaged(staged: Staged): AsyncIterable<Uint8Array> {
    const descriptor = await onDisk(() => openSync(staged, O_RDONLY | O_NOFOLLOW));
    try {
      yield* chunksOf(descriptor, Infinity);
    } finally {
      closeSync(descriptor);
    }
  }

  place(staged: Staged, path: DiskPath, expected: Stat | undefined, like?: DiskPath): Promise<Stat> {
    return onDisk(() =>
      inParent(this.root, path, true, (address) => {
        const target = join(address, nameOf(path));
        if (expected) {
          checkSame(target, expected);
          copyPermissions(target, staged);
          renameSync(staged, target);
        } else {
          if (like !== undefined) copyPermissions(join(address, nameOf(like)), staged);
          moveToFreeName(staged, target);
        }
        return statOf(lstatSync(target, { bigint: true }));
      }),
    );
  }

  discard(staged: Staged): Promise<void> {
    return onDisk(() => {
      if (lstatSync(staged, { throwIfNoEntry: false })) unlinkSync(staged);
    });
  }

  rename(from: DiskPath, to: DiskPath, expected: Stat): Promise<Stat> {
    if (parentOf(from) !== parentOf(to)) throw new DiskError('io', 'a file is renamed within its directory');
    return onDisk(() =>
      inParent(this.root, from, false, (address) => {
        const source = join(address, nameOf(from));
        const target = join(address, nameOf(to));
        checkSame(source, expected);
        moveToFreeName(source, target);
        return statOf(lstatSync(target, { bigint: true }));
      }),
    );
  }

  remove(path: DiskPath, expected: Stat): Promise<void> {
    return onDisk(() =>
      inParent(this.root, path, false, (address) => {
        const target = join(address, nameOf(path));
        checkSame(target, expected);
        unlinkSync(target);
      }),
    );
  }

  removeDirectory(path: DiskPath): Promise<boolean> {
    const removed = onDisk(() =>
      inParent(this.root, path, false, (address) => {
        rmdirSync(join(address, nameOf(path)));
        return true;
      }),
    );
    return removed.catch(() => false);
  }

  flush(directories: Iterable<DiskPath>): Promise<void> {
    return onDisk(() => {
      for (const directory of directories) this.flushOne(directory);
    });
  }

  async readMarker(): Promise<string | undefined> {
    const stat = await this.stat(`${OWN_DIRECTORY}/${MARKER}`).catch(() => undefined);
    if (stat?.kind !== 'file') return undefined;
    const parts: Uint8Array[] = [];
    for await (const part of this.read(`${OWN_DIRECTORY}/${MARKER}`, stat)) parts.push(part);
    return Buffer.concat(parts).toString();
  }

  writeMarker(text: string, expected: string | undefined): Promise<void> {
    return onDisk(async () => {
      const staged = await this.stage(new TextEncoder().encode(text));
      inParent(this.root, `${OWN_DIRECTORY}/${MARKER}`, false, (address) => {
        const marker = join(address, MARKER);
        const present = lstatSync(marker, { throwIfNoEntry: false }) && readFileSync(marker, 'utf8');
        if (present !== expected) throw new DiskError('changed', 'the folder is another now');
        renameSync(staged, marker);
      });
      await this.flush(['', OWN_DIRECTORY]);
    });
  }

  /** Best effort: leftovers only cost space, so they stay on a disk that refuses writes. */
  async clearStaging(): Promise<void> {
    try {
      const staging = await this.staging();
      for (const name of await readdir(staging)) await unlink(join(staging, name));
    } catch {
      return;
    }
  }

  async freeBytes(): Promise<number | undefined> {
    const { bavail, bsize, blocks } = await onDisk(() => statfs(this.root));
    return blocks === 0 ? undefined : bavail * bsize;
  }

  private lookAt(path: DiskPath): Stat | undefined {
    try {
      return inParent(this.root, path, false, (address) => {
        const stat = lstatSync(join(address, nameOf(path)), { bigint: true, throwIfNoEntry: false });
        return stat && statOf(stat);
      });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(code ?? '')) return undefined;
      throw error;
    }
  }

  /** O_NONBLOCK: does not wait for a pipe that has replaced the file. */
  private openForReading(path: DiskPath): number {
    const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    return inParent(this.root, path, false, (address) => openSync(join(address, nameOf(path)), flags));
  }

  private flushOne(directory: DiskPath): void {
    try {
      inParent(this.root, joined(directory, 'x'), false, (address) => {
        const descriptor = openSync(address, O_RDONLY);
        try {
          fsyncSync(descriptor);
        } finally {
          closeSync(descriptor);
        }
      });
    } catch (error) {
      // The directory was deleted, or the system cannot flush directories (Windows).
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'EPERM', 'EISDIR', 'EINVAL'].includes(code)) throw error;
    }
  }

  private async staging(): Promise<string> {
    const staging = join(this.root, OWN_DIRECTORY, STAGING);
    for (const directory of [join(this.root, OWN_DIRECTORY), staging]) {
      if (!lstatSync(directory, { throwIfNoEntry: false })) await mkdir(directory, { mode: 0o700 });
      if (!lstatSync(directory).isDirectory())
        throw new DiskError('in-the-way', `${OWN_DIRECTORY} is no directory: move it elsewhere`);
    }
    return staging;
  }
}
