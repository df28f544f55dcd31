import { DiskError } from './errors.js';
import { pathProblem, vaultName, vaultProblem } from './names.js';
import type { Disk, DiskPath, Entry } from './ports.js';
import type { Rules } from './rules.js';
import { joined, type LocalFile, type LocalTree } from './trees.js';

/** Lists every file that the rules allow. Follows no links, and reads no contents. */
export async function scan(disk: Disk, rules: Rules): Promise<LocalTree> {
  const scanner = new Scanner(disk, rules);
  await scanner.visit('', '');
  return scanner;
}

class Scanner implements LocalTree {
  readonly files = new Map<string, LocalFile>();
  readonly directories = new Map<string, DiskPath>();
  readonly heldBack = new Map<string, string>();
  readonly unreadable = new Map<string, string>();

  constructor(
    private readonly disk: Disk,
    private readonly rules: Rules,
  ) {}

  async visit(path: string, diskPath: DiskPath): Promise<void> {
    const entries = await this.entriesOf(path, diskPath);
    for (const entry of entries) {
      const subdirectory = this.see(entry, path, diskPath);
      if (subdirectory !== undefined)
        await this.visit(subdirectory, joined(diskPath, entry.name ?? entry.shown));
    }
  }

  private async entriesOf(path: string, diskPath: DiskPath): Promise<Entry[]> {
    try {
      const entries = await this.disk.list(diskPath);
      return entries.length < 2 ? entries : entries.sort(byName);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      if (error.failure === 'absent' && path !== '') {
        this.directories.delete(path); // deleted since its parent was listed
        return [];
      }
      this.unreadable.set(path, `cannot be read (${error.message}): nothing in it is synced`);
      return [];
    }
  }

  /** @returns the path of a directory to visit */
  private see(entry: Entry, parent: string, parentOnDisk: DiskPath): string | undefined {
    const { name, stat } = entry;
    if (name === undefined) {
      this.heldBack.set(joined(parent, entry.shown), 'the name is not Unicode: rename it');
      return undefined;
    }
    const path = joined(parent, vaultName(name));
    const isDirectory = stat.kind === 'directory';
    if (isDirectory ? this.rules.skips(path) : this.rules.leftOut(path)) return undefined;
    const problem = vaultProblem(name) ?? pathProblem(path) ?? unsyncable(entry);
    if (problem !== undefined) this.heldBack.set(path, problem);
    else if (this.files.has(path) || this.directories.has(path))
      this.heldBack.set(
        joined(parent, name),
        'another has the same name in another Unicode form: rename one',
      );
    else if (isDirectory) {
      this.directories.set(path, joined(parentOnDisk, name));
      return path;
    } else this.files.set(path, { diskPath: joined(parentOnDisk, name), stat });
    return undefined;
  }
}

function unsyncable({ stat }: Entry): string | undefined {
  if (stat.kind === 'link') return 'a symbolic link is not synced: put the file itself here';
  return stat.kind === 'other' ? 'not a regular file' : undefined;
}

/** Names in the vault's form first: if two entries have the same vault name, the first counts. */
function byName(a: Entry, b: Entry): number {
  const [one, other] = [a.name ?? '', b.name ?? ''];
  return rank(one) - rank(other) || (one < other ? -1 : 1);
}

const rank = (name: string): number => (name === vaultName(name) ? 0 : 1);
