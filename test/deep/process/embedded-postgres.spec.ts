import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { lockDataDirectory, startEmbeddedPostgres } from '../../../src/platform/database/embedded/index.js';
import { levelOf, readServerLine } from '../../../src/platform/database/embedded/socket-directory.js';
import { pageFaults, residentBytes } from '../../kit/memory.js';
import {
  IS_ROOT,
  freshDataDir,
  isAlive,
  note,
  notes,
  processes,
  running,
  serve,
  until,
  usedDataDir,
  useEmbeddedServices,
} from '../../kit/embedded-process.js';

useEmbeddedServices();

describe('the embedded PostgreSQL', () => {
  it('creates a private, durable database at the first start', async () => {
    const service = await running(freshDataDir());
    const settings = await service.query(`
      SELECT name, setting FROM pg_settings WHERE name IN ('data_checksums', 'fsync', 'full_page_writes',
        'synchronous_commit', 'listen_addresses', 'server_encoding', 'TimeZone', 'shared_buffers', 'wal_buffers',
        'max_logical_replication_workers', 'default_statistics_target')`);
    expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
      data_checksums: 'on',
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      listen_addresses: '',
      server_encoding: 'UTF8',
      shared_buffers: '2048',
      wal_buffers: '256',
      max_logical_replication_workers: '0',
      default_statistics_target: '30',
      TimeZone: 'UTC',
    });
    const mode = (path: string) => (statSync(join(service.dataDir, path)).mode & 0o777).toString(8);
    expect(mode('.')).toBe(IS_ROOT ? '711' : '700');
    expect(['postgres', 'run', 'secrets', 'secrets/postgres-password'].map(mode)).toEqual([
      '700',
      '700',
      '700',
      '600',
    ]);
    expect(service.warnings).toEqual([]);
  });

  it('is protected by its password, which appears in no command line, environment or log', async () => {
    const service = await running(freshDataDir());
    await expect(service.query('SELECT 1', { password: 'guess' })).rejects.toThrow(
      'password authentication failed',
    );

    const { password } = (await service.event('ready')).target as { password: string };
    const logged = service.events.filter(({ event }) => event !== 'ready');
    expect(JSON.stringify(logged) + JSON.stringify(processes())).not.toContain(password);
    const { parent } = service.shell;
    for (const pid of [parent, service.postmaster]) {
      const environment = process.platform === 'linux' ? readFileSync(`/proc/${pid}/environ`, 'utf8') : '';
      expect(environment).not.toContain(password);
      expect(environment).not.toContain('DIST_ROOT=');
      if (environment) expect(environment).toContain('MALLOC_TRIM_THRESHOLD_=');
    }
  });

  (process.platform === 'linux' ? it : it.skip)(
    'keeps the memory of small statements, and releases that of large ones',
    async () => {
      const service = await running(freshDataDir());
      await service.connected(async (client) => {
        const texts = async (kib: number, times: number) => {
          for (let i = 0; i < times; i++)
            await client.query(
              `SELECT length(string_agg(repeat('x', 1024), '')) FROM generate_series(1, ${kib})`,
            );
        };
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        const { pid } = rows[0]!;
        await texts(200, 10);
        const [faults, memory] = [await pageFaults(pid), await residentBytes(pid, 'RssAnon')];
        await texts(200, 20);
        expect((await pageFaults(pid)) - faults).toBeLessThan(40); // 1,400 without reused memory
        await texts(20_000, 4);
        expect((await residentBytes(pid, 'RssAnon')) - memory).toBeLessThan(4_096 * 1024);
      });
    },
  );

  it('keeps its data from one start to the next', async () => {
    const first = await running(freshDataDir());
    await note(first, 'kept');
    expect(await first.stop()).toBe(0);
    expect(readdirSync(join(first.dataDir, 'postgres'))).not.toContain('postmaster.pid');

    const second = await running(first.dataDir);
    expect(await notes(second)).toEqual(['kept']);
    expect(second.warnings).toEqual([]);
  });

  it('stops although clients are connected', async () => {
    const service = await running(await usedDataDir());
    const { target } = await service.event('ready');
    const client = new pg.Client(target!);
    client.on('error', () => undefined);
    await client.connect();
    const { postmaster } = service;
    expect(await service.stop()).toBe(0);
    expect(isAlive(postmaster)).toBe(false);
    expect(service.warnings).toEqual([]);
  });

  it('runs in a test process, but only with the lock of the data directory', async () => {
    const dataDir = freshDataDir();
    const options = {
      dataDir,
      log: () => undefined,
      onFatal: (error: Error) => expect(error).toBeUndefined(),
    };
    await expect(startEmbeddedPostgres(options)).rejects.toThrow('without lockDataDirectory');

    const lock = await lockDataDirectory(dataDir);
    await expect(lockDataDirectory(dataDir)).rejects.toThrow(
      `in use by another running service (pid ${process.pid})`,
    );
    for (let start = 1; start <= 2; start++) await (await startEmbeddedPostgres(options)).stop();
    await lock.release();
    await (await lockDataDirectory(dataDir)).release();
  });

  it('ignores signals that are meant for the service, which drains first', async () => {
    const service = await running(await usedDataDir());
    const { postmaster, shell } = service;
    const session = (pid: number) => execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)]).toString();
    expect(session(postmaster)).not.toBe(session(service.child.pid!)); // a terminal's Ctrl-C
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
      process.kill(shell.parent, signal); // a service manager's SIGTERM to all
      process.kill(shell.guard, signal);
    }
    await note(service, 'still there');
    expect([shell.parent, shell.guard, postmaster].every(isAlive)).toBe(true);
    expect(await service.stop()).toBe(0);
  });

  it('leaves no partial cluster when the first start is killed', async () => {
    const dataDir = freshDataDir();
    const killed = serve(dataDir);
    await until('a beginning', () => readable(dataDir).some((name) => name.startsWith('postgres.')));
    await killed.kill9();
    expect(readable(dataDir)).not.toContain('postgres');

    const next = await running(dataDir);
    await note(next, 'fine');
    await next.stop();
    const last = await running(dataDir);
    expect(await notes(last)).toEqual(['fine']);
    expect(readable(dataDir).sort()).toEqual(['postgres', 'postgres.lock', 'run', 'secrets', 'service.lock']);
  });
});

function readable(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

describe("the server's messages", () => {
  const level = (line: string) => levelOf(readServerLine(line));

  it('are logged when they report a fault of the server', () => {
    expect(level('checkpointer|53100|PANIC:  could not write to file: No space left on device')).toBe(
      'error',
    );
    expect(level('client backend|XX001|ERROR:  invalid page in block 1 of relation base/1/1')).toBe('error');
    expect(level('autovacuum worker|57014|ERROR:  canceling autovacuum task')).toBe('error');
    expect(level('postmaster|00000|LOG:  server process (PID 1) was terminated by signal 9: Killed')).toBe(
      'warn',
    );
    expect(level('postgres: error while loading shared libraries')).toBe('warn');
  });

  it('are not logged when they concern one client or a passing state', () => {
    expect(
      level('client backend|23505|ERROR:  duplicate key value violates unique constraint'),
    ).toBeUndefined();
    expect(level('client backend|57P03|FATAL:  the database system is starting up')).toBeUndefined();
    expect(
      level('client backend|57P01|FATAL:  terminating connection due to administrator command'),
    ).toBeUndefined();
    expect(level('postmaster|00000|LOG:  database system is ready to accept connections')).toBeUndefined();
  });
});
