import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  IS_ROOT,
  EmbeddedService,
  isAlive,
  note,
  notes,
  processes,
  running,
  until,
  usedDataDir,
  useEmbeddedServices,
} from '../../kit/embedded-process.js';

useEmbeddedServices();

/**
 * Kills a backend, and the service while the server recovers, so that its shutdown hangs forever.
 * The recovery lasts until this removes the pipe that replaces the file it reads first.
 */
async function hangInShutdown({ child, dataDir, ended, postmaster }: EmbeddedService): Promise<void> {
  const children = () => processes().filter(({ parent }) => parent === postmaster);
  const find = (kind: string) => children().find(({ command }) => command.includes(`postgres: ${kind}`));
  const pipe = join(dataDir, 'postgres/backup_label');
  execFileSync('mkfifo', [pipe]);
  chmodSync(pipe, 0o666); // the server may be another user
  process.kill(find('walwriter')!.pid, 'SIGKILL');
  await until('a recovery', () => find('startup') && find('checkpointer'));
  child.kill('SIGKILL');
  await ended;
  const signature = join(dataDir, 'postgres/postmaster.pid');
  await until('a shutdown', () => readFileSync(signature, 'utf8').includes('stopping'));
  const writer = openSync(pipe, 'r+'); // open while the pipe goes, so that the recovery cannot miss its end
  rmSync(pipe);
  closeSync(writer);
  await until('the end of the recovery', () => children().length === 1);
  expect(find('checkpointer')).toBeDefined();
}

async function hangingServer(): Promise<void> {
  const service = await running(await usedDataDir());
  await note(service, 'acknowledged');
  const { postmaster, shell } = service;
  await hangInShutdown(service);
  for (const pid of [postmaster, shell.parent, shell.guard]) {
    await until('an end of all that belongs to the server', () => !isAlive(pid));
  }

  const next = await running(service.dataDir);
  expect(next.warnings).toEqual([]);
  expect(await notes(next)).toEqual(['acknowledged']);
}

async function hangingServerWithoutGuard(): Promise<void> {
  const service = await running(await usedDataDir());
  await note(service, 'acknowledged');
  const { postmaster, shell } = service;
  await hangInShutdown(service);
  for (const pid of [shell.guard, shell.parent]) process.kill(pid, 'SIGKILL');
  expect(isAlive(postmaster)).toBe(true);

  const next = await running(service.dataDir);
  expect(isAlive(postmaster)).toBe(false);
  expect(next.warnings).toEqual(['immediately stopping a PostgreSQL that does not shut down']);
  expect(await notes(next)).toEqual(['acknowledged']);
}

describe('kill -9', () => {
  it('shuts the server down when the service is killed, and the next start finds the data', async () => {
    const killed = await running(await usedDataDir());
    await note(killed, 'acknowledged');
    const { postmaster } = killed;
    await killed.kill9();
    await until('the end of the server', () => !isAlive(postmaster));
    expect(readdirSync(join(killed.dataDir, 'postgres'))).not.toContain('postmaster.pid');

    expect(await notes(await running(killed.dataDir))).toEqual(['acknowledged']);
  });

  it('lets an immediate start wait for the server to end', async () => {
    const killed = await running(await usedDataDir());
    await note(killed, 'acknowledged');
    await killed.kill9();
    expect(await notes(await running(killed.dataDir))).toEqual(['acknowledged']);
  });

  it('restarts a killed server and logs it once', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster } = service;
    process.kill(postmaster, 'SIGKILL');
    await until('a restart', () =>
      service.events.find(({ message }) => message === 'PostgreSQL is running again'),
    );

    expect(await notes(service)).toEqual(['acknowledged']);
    expect(service.postmaster).not.toBe(postmaster);
    expect(service.warnings).toEqual(['PostgreSQL exited unexpectedly; restarting it']);
    expect(await service.stop()).toBe(0);
  });

  it('gives up when the server is killed again and again', async () => {
    const service = await running(await usedDataDir());
    for (let kills = 1; kills <= 6; kills++) {
      process.kill(service.postmaster, 'SIGKILL');
      const restarts = () =>
        service.events.filter(({ message }) => message === 'PostgreSQL is running again');
      if (kills < 6) await until('a restart', () => restarts().length === kills);
    }
    expect((await service.event('fatal')).message).toBe('PostgreSQL exited 6 times within a minute');
    expect(await service.ended).toBe(2);
  });

  it('restarts the server under a new parent when its parent is killed', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster, shell } = service;
    process.kill(shell.parent, 'SIGKILL');
    await until('a restart', () =>
      service.events.find(({ message }) => message === 'PostgreSQL is running again'),
    );

    expect(isAlive(postmaster)).toBe(false);
    expect(await notes(service)).toEqual(['acknowledged']);
    expect(await service.stop()).toBe(0);
  });

  it('recovers at the next start when service, parent, guard and server are killed', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster, shell } = service;
    for (const pid of [shell.guard, shell.parent, postmaster, service.child.pid!])
      process.kill(pid, 'SIGKILL');
    await service.ended;

    expect(await notes(await running(service.dataDir))).toEqual(['acknowledged']);
  });

  it('ends the orphaned server at the next start when service, parent and guard are killed', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster, shell } = service;
    service.child.kill('SIGSTOP'); // else it might restart the server before its own end
    for (const pid of [shell.guard, shell.parent, service.child.pid!]) process.kill(pid, 'SIGKILL');
    await service.ended;
    expect(isAlive(postmaster)).toBe(true);

    const next = await running(service.dataDir);
    expect(isAlive(postmaster)).toBe(false);
    expect(next.warnings).toEqual(['stopping a PostgreSQL that an earlier run left behind']);
    expect(await notes(next)).toEqual(['acknowledged']);
  });

  describe('kill -9 of a backend and then of the service', () => {
    let stories: Record<'guarded' | 'unguarded', Promise<void>>;
    /** Both wait for the timeouts of a hanging server, so they run concurrently. */
    beforeAll(() => {
      stories = { guarded: hangingServer(), unguarded: hangingServerWithoutGuard() };
    });
    beforeEach(() => Promise.allSettled(Object.values(stories))); // afterEach would end their processes

    it('stops a server that hangs in its shutdown', () => stories.guarded);

    it('stops a hanging server at the next start when the guard is killed as well', () => stories.unguarded);
  });

  it('does not block the next start when another process gets the pid of the dead server', async () => {
    const service = await running(await usedDataDir());
    await note(service, 'acknowledged');
    const { postmaster, shell, dataDir } = service;
    for (const pid of [shell.guard, shell.parent, postmaster, service.child.pid!])
      process.kill(pid, 'SIGKILL');
    await service.ended;
    const signature = join(dataDir, 'postgres/postmaster.pid');
    const { uid, gid } = statSync(signature);
    const other = spawn('tail', ['-f', '/dev/null'], IS_ROOT ? { uid, gid } : {});
    try {
      writeFileSync(signature, readFileSync(signature, 'utf8').replace(/^\d+/, String(other.pid)));
      const next = await running(dataDir);
      expect(next.warnings).toEqual(['removed the lock files of a dead PostgreSQL']);
      expect(await notes(next)).toEqual(['acknowledged']);
      expect(other.exitCode).toBeNull();
    } finally {
      other.kill();
    }
  });
});
