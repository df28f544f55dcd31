// Keeps the temporary files of a run in memory if there is enough, including databases and data directories: they exist for
// seconds, and tests only kill processes, never the machine.
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const SPARE_BYTES = 6 * 2 ** 30;
const DIRECTORY = /^sync-tests-(\d+)$/;

/**
 * Sets TMPDIR for this process and its children, and TEST_DISK to its previous value, for tests that need a real disk.
 * @returns the directory to remove in the end, if any
 */
export async function useMemory() {
  process.env.TEST_DISK = tmpdir();
  if (process.env.TMPDIR || !(await isSpare())) return undefined;
  await removeForgotten();
  const directory = join(MEMORY, `sync-tests-${process.pid}`);
  await mkdir(directory);
  await chmod(directory, 0o1777); // like /tmp: some tests run processes of other users
  process.env.TMPDIR = directory;
  return directory;
}

async function isSpare() {
  try {
    const { bavail, bsize } = await statfs(MEMORY);
    const mount = (await readFile('/proc/mounts', 'utf8'))
      .split('\n')
      .find((line) => line.split(' ')[1] === MEMORY);
    return bavail * bsize >= SPARE_BYTES && !mount.includes('noexec'); // an installation is copied there and run
  } catch {
    return false; // not Linux
  }
}

/** Removes leftovers of killed runs, which would occupy memory until the machine restarts. */
async function removeForgotten() {
  for (const name of await readdir(MEMORY)) {
    const pid = DIRECTORY.exec(name)?.[1];
    if (!pid || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue;
    await unmountBelow(join(MEMORY, name));
    await rm(join(MEMORY, name), { recursive: true, force: true });
  }
}

/** Unmounts the small disks of tests (small-disk.ts): a mounted directory cannot be removed. */
async function unmountBelow(directory) {
  const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const path of mounts.filter((mount) => mount.startsWith(`${directory}/`)))
    execFileSync('umount', ['--lazy', path]);
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
