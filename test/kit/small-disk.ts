import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const LOOK_EVERY_MS = 2;

/** A separate file system in memory. Mounting needs root: see `whyNoDisk`. */
export class SmallDisk {
  private constructor(readonly path: string) {}

  /** @throws when mounting is not allowed */
  static mount(mebibytes: number): SmallDisk {
    const path = mkdtempSync(join(tmpdir(), 'small-disk-'));
    try {
      const options = `size=${mebibytes}m,mode=0755`;
      execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'pipe' });
      return new SmallDisk(path);
    } catch (error) {
      rmSync(path, { recursive: true });
      throw error;
    }
  }

  unmount(): void {
    execFileSync('umount', [this.path]);
    rmSync(this.path, { recursive: true });
  }

  async free(): Promise<number> {
    const { bavail, bsize } = await statfs(this.path);
    return bavail * bsize;
  }

  /** Samples the free space while `work` runs. @returns the lowest value, in bytes */
  async lowestDuring(work: () => Promise<void>): Promise<number> {
    let lowest = Infinity;
    let isOver = false;
    const look = async (): Promise<void> => {
      while (!isOver) {
        lowest = Math.min(lowest, await this.free());
        await delay(LOOK_EVERY_MS);
      }
    };
    const looking = look();
    await work().finally(() => {
      isOver = true;
    });
    await looking;
    return lowest;
  }
}

/** Why mounting is not possible here, as a sentence; undefined if it is. */
export function whyNoDisk(): string | undefined {
  try {
    SmallDisk.mount(1).unmount();
    return undefined;
  } catch (error) {
    return `no disk can be mounted here: ${String((error as { stderr?: Buffer }).stderr ?? error).trim()}`;
  }
}
