// Where there is memory to spare, the temporary files of a run are kept in it, databases and data directories included:
// those live for seconds, and what is killed is a process, never the machine.
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const SPARE_BYTES = 6 * 2 ** 30;
const DIRECTORY = /^sync-tests-(\d+)$/;

/**
 * Sets TMPDIR for this process and for those that it starts, and TEST_DISK to what it was, for tests that are about
 * waiting for a disk. @returns what is to be removed in the end, if anything
 */
export async function useMemory() {
  process.env.TEST_DISK = tmpdir();
  if (process.env.TMPDIR || !(await isSpare())) return undefined;
  await removeForgotten();
  const directory = join(MEMORY, `sync-tests-${process.pid}`);
  await mkdir(directory);
  await chmod(directory, 0o1777); // as /tmp: some tests run processes of other users
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
    return false; // another system
  }
}

/** What runs have left that were killed: memory is not freed by a restart of anything but the machine. */
async function removeForgotten() {
  for (const name of await readdir(MEMORY)) {
    const pid = DIRECTORY.exec(name)?.[1];
    if (!pid || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue;
    await unmountBelow(join(MEMORY, name));
    await rm(join(MEMORY, name), { recursive: true, force: true });
  }
}

/** The small disks of tests: see small-disk.ts. A mounted directory cannot be removed. */
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
