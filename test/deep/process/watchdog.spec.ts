import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createConnection, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../bench/free-port.js';
import { ROOT } from '../../kit/deployment.js';
import { createDatabase, eventually, type TestDatabase, TestUser } from '../../kit/index.js';
import { compiled, environment, type ServiceProcess, startProcess } from '../../kit/process.js';

const WATCHDOG = join(ROOT, 'ops/watchdog.mjs');
const HEALTHCHECK = join(ROOT, 'ops/healthcheck.mjs');
/** A response may take one interval, which can be too short on a slow machine. */
const QUICK = { WATCHDOG_INTERVAL_S: '1', WATCHDOG_FAILURES: '3' };
/** For the real service. */
const PATIENT = { WATCHDOG_INTERVAL_S: '1', WATCHDOG_FAILURES: '10' };
const underWatch = [process.execPath, WATCHDOG, ...compiled()];

/** The process that the watchdog has started. */
function watchedBy({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}

const isRunning = (pid: number): boolean => {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
};

const describeOnLinux = process.platform === 'linux' ? describe : describe.skip;

describeOnLinux('the service under its watchdog', () => {
  let database: TestDatabase;
  let dataDir: string;
  let env: Record<string, string>;
  let running: ServiceProcess | undefined;
  beforeAll(async () => {
    database = await createDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'watchdog-'));
    env = { DATABASE_URL: database.url, DATA_DIR: dataDir, PORT: String(await freePort()), ...PATIENT };
  });
  afterAll(async () => {
    await running?.end('SIGTERM');
    await database.drop();
    await rm(dataDir, { recursive: true });
  });

  it('is killed when it stops responding, and keeps all acknowledged writes', async () => {
    running = await startProcess(env, underWatch);
    const alice = await TestUser.logIn(running.url, 'alice');
    await alice.post('/api/v1/subscription/trial').expect(200);
    const workspace = await alice.workspace();
    await workspace.put('small', 'acknowledged').expect(201);
    await workspace.put('large', Buffer.alloc(1 << 20, 7)).expect(201);
    const hung = watchedBy(running.child);
    // A service that has not answered yet may still be starting: it is not killed.
    await eventually(() => expect(running?.output()).toContain('is watched from now on'));
    process.kill(hung, 'SIGSTOP');
    expect(await once(running.child, 'exit')).toEqual([1, null]);
    expect(isRunning(hung)).toBe(false);
    expect(running.output()).toMatch(/"level":"fatal".*has not answered \/health 10 times in a row/);

    running = await startProcess(env, underWatch);
    expect(String((await workspace.get('small').expect(200)).body)).toBe('acknowledged');
    expect((await workspace.get('large').expect(200)).body).toHaveLength(1 << 20);
  });

  it('drains on SIGTERM as without a watchdog', async () => {
    const service = running!;
    running = undefined;
    const watched = watchedBy(service.child);
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(isRunning(watched)).toBe(false);
  });

  it('ends with the exit code of a service that does not start', async () => {
    const child = spawn(process.execPath, [WATCHDOG, ...compiled()], {
      env: environment({ ...env, MAX_FILE_BYTES: 'many' }),
    });
    expect(await once(child, 'exit')).toEqual([1, null]);
  });
});

describe('ops/watchdog.mjs', () => {
  const idle = [process.execPath, '-e', 'setInterval(() => {}, 1_000)'];

  it('waits for the first success without limit, and counts only consecutive failures', async () => {
    const statuses = [...Array<number>(4).fill(503), 200, 503, 503, 200, 503, 503, 503];
    const { server, port, asked } = await answering((ask) => statuses[ask] ?? 200);
    const env = { ...QUICK, PATH: process.env.PATH, PORT: String(port), HOST: '0.0.0.0' };
    const child = spawn(process.execPath, [WATCHDOG, ...idle], { env, stdio: 'ignore' });
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(asked()).toBe(statuses.length);
    server.close();
  });

  it('exits like its command, also after a signal', async () => {
    const run = async (...args: string[]): Promise<unknown[]> =>
      once(spawn(process.execPath, [WATCHDOG, ...args], { stdio: 'ignore' }), 'exit');
    expect(await run(process.execPath, '-e', 'process.exit(7)')).toEqual([7, null]);
    expect(await run(process.execPath, '-e', 'process.kill(process.pid, "SIGKILL")')).toEqual([137, null]);
    expect(await run('/nowhere/to/be/found')).toEqual([127, null]);
    expect(await run()).toEqual([2, null]);
  });

  it('does not kill a command that was asked to end', async () => {
    let isAlive = true;
    const { server, port, asked } = await answering(() => (isAlive ? 200 : 503));
    const drain = `
      process.once('SIGTERM', () => setTimeout(() => process.exit(0), 5_000));
      setInterval(() => {}, 1_000);`;
    const env = { ...QUICK, PATH: process.env.PATH, PORT: String(port) };
    const child = spawn(process.execPath, [WATCHDOG, process.execPath, '-e', drain], {
      env,
      stdio: 'ignore',
    });
    await eventually(() => expect(asked()).toBeGreaterThan(0));
    isAlive = false;
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    server.close();
  });
});

describe('ops/healthcheck.mjs', () => {
  const check = async (port: number): Promise<unknown[]> => {
    const env = { PATH: process.env.PATH, PORT: String(port) };
    return once(spawn(process.execPath, [HEALTHCHECK], { env, stdio: 'ignore' }), 'exit');
  };

  it('succeeds at the connection limit of the instance, and fails when it hangs or is gone', async () => {
    const { server, port } = await answering(() => 200);
    server.maxConnections = 1;
    await once(createConnection(port), 'connect');
    await once(
      createConnection(port)
        .on('error', () => undefined)
        .resume(),
      'close',
    );
    expect(await check(port)).toEqual([0, null]);
    server.closeAllConnections();
    server.close();
    expect(await check(port)).toEqual([1, null]);
    const hanging = createTcpServer(() => undefined).listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    expect(await check((hanging.address() as AddressInfo).port)).toEqual([1, null]);
    hanging.close();
  });
});

/** A server in place of the service. */
async function answering(
  status: (ask: number) => number,
): Promise<{ server: Server; port: number; asked: () => number }> {
  let asked = 0;
  const server = createServer((_, response) => response.writeHead(status(asked++)).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port, asked: () => asked };
}
