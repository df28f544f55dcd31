import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { servers } from './test-servers.js';

/** An exFAT disk like a memory card: it folds case, has a resolution of seconds, and refuses some characters and all links. */
export class ForeignDisk {
  private constructor(
    private readonly home: string,
    private readonly loop: string,
  ) {}

  /** @throws when mounting is not allowed, or the file systems of scripts/test-servers.sh are missing */
  static mount(mebibytes: number): ForeignDisk {
    const home = mkdtempSync(join(tmpdir(), 'foreign-disk-'));
    const [image, path] = [join(home, 'image'), join(home, 'disk')];
    let loop: string | undefined;
    try {
      mkdirSync(path);
      run('truncate', '-s', `${mebibytes}M`, image);
      run('mkfs.exfat', image);
      loop = run('losetup', '--find', '--show', image).trim();
      run('mount.exfat-fuse', loop, path);
      run('mountpoint', path);
      return new ForeignDisk(home, loop);
    } catch (error) {
      if (loop) run('losetup', '--detach', loop);
      rmSync(home, { recursive: true });
      throw error;
    }
  }

  get path(): string {
    return join(this.home, 'disk');
  }

  unmount(): void {
    run('umount', this.path);
    run('losetup', '--detach', this.loop);
    rmSync(this.home, { recursive: true });
  }
}

function run(program: string, ...args: string[]): string {
  const env = { ...process.env, ...servers.environment };
  return execFileSync(program, args, { env, encoding: 'utf8', stdio: 'pipe' });
}

/** `describe` if such a disk can be mounted; otherwise the tests are skipped, with the reason in one line. */
export function describeOnForeignDisk(name: string, tests: () => void): void {
  const reason = whyNoForeignDisk();
  if (reason === undefined) {
    describe(name, tests);
    return;
  }
  process.stderr.write(`skipped: ${name}: ${reason}\n`);
  describe.skip(name, tests);
}

function whyNoForeignDisk(): string | undefined {
  try {
    ForeignDisk.mount(4).unmount();
    return undefined;
  } catch (error) {
    const said = ((error as { stderr?: string }).stderr ?? '').trim() || String(error);
    return `no exFAT can be mounted here (root, /dev/fuse and scripts/test-servers.sh are needed): ${said.split('\n')[0] ?? ''}`;
  }
}
