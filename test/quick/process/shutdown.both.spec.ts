import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { freePort } from '../../../bench/free-port.js';
import {
  createDatabase,
  eventually,
  type TestDatabase,
  TestSocket,
  TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { halfAnUpload } from '../../kit/half-upload.js';
import { Load } from '../../kit/load.js';
import { received, unfinishedUpload } from '../../kit/raw-http.js';
import { type ServiceProcess, startProcess } from '../../kit/process.js';
import { itDeep } from '../../kit/rounds.js';

/** How often the process is replaced under load; SHUTDOWN_RUNS=50 for a thorough run. */
const RUNS = Number(process.env.SHUTDOWN_RUNS ?? 3);
const CLIENTS = 8;
const ENOUGH = 5 * CLIENTS;
const ENDED_WELL = { code: 0, signal: null };

let database: TestDatabase;
let dataDir: string;
let env: Record<string, string>;
let service: ServiceProcess;
let workspace: TestWorkspace;
beforeAll(async () => {
  database = await createDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'sync-shutdown-'));
  env = { DATA_DIR: dataDir, DATABASE_URL: database.url, PORT: String(await freePort()) };
});
afterAll(async () => {
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<void> {
  service = await startProcess(env);
  const alice = await TestUser.logIn(service.url, 'alice');
  await alice.post('/api/v1/subscription/trial');
  workspace = await alice.workspace();
}

describe('SIGTERM', () => {
  itDeep(
    `loses no request under load: ${RUNS} times`,
    async () => {
      await start();
      const { user, id: workspaceId } = workspace;
      const load = new Load({ url: service.url, workspaceId, token: user.token, clients: CLIENTS });
      for (let run = 0; run < RUNS; run++) {
        const enough = load.answered + ENOUGH;
        await eventually(() => expect(load.answered).toBeGreaterThan(enough));
        const finish = await halfAnUpload(database, workspace, `c2xvdw${run}`);
        const ended = service.end('SIGTERM');
        await eventually(() => expect(load.tally.refused).toBeGreaterThan(run));
        expect(await finish()).toBe(201);
        expect(await ended).toEqual(ENDED_WELL);
        service = await startProcess(env);
        load.tally.refused = run + 1;
      }
      const { broken, statuses, stored } = await load.stop();
      expect({ broken, statuses }).toEqual({ broken: [], statuses: { 201: stored.length } });
      const paths = new Set((await workspace.list()).map(({ encrypted_path }) => encrypted_path));
      expect(stored.filter((path) => !paths.has(path))).toEqual([]);
      expect(await service.end('SIGTERM')).toEqual(ENDED_WELL);
    },
    900_000 + RUNS * 60_000,
  );

  itDeep('ends readiness first, if it is checked, then sockets, then requests under way', async () => {
    await start();
    const ready = (): supertest.Test => supertest(service.url).get('/health/ready');
    await ready().expect(200);
    const socket = await TestSocket.join(workspace, 'phone');
    const finish = await halfAnUpload(database, workspace, 'b3JkZXI');

    const ended = service.end('SIGTERM');
    await eventually(() => ready().expect(503));
    await supertest(service.url).get('/health').expect(200, { ok: true });
    expect(socket.closeCode).toBeUndefined();
    await workspace.put('YmV0d2Vlbg', 'served as ever').expect(201);
    expect(await socket.closed()).toBe(1001);
    await eventually(() => expect(ready()).rejects.toThrow('ECONNREFUSED'));
    expect(await finish()).toBe(201);
    expect(await ended).toEqual(ENDED_WELL);
  });

  itDeep('waits a limited time for an upload that never ends, and exits with 0', async () => {
    await start();
    const socket = unfinishedUpload(service.url, workspace, 'bmV2ZXI');
    const answer = received(socket);
    await database.eventually(`SELECT FROM blobs WHERE state = 'staged'`);
    expect(await service.end('SIGTERM')).toEqual(ENDED_WELL); // 1 if it had to be forced, after 45 s
    expect(String(await answer)).toBe('');
  });

  it('may be repeated, also as SIGINT, without interrupting an upload', async () => {
    await start();
    const finish = await halfAnUpload(database, workspace, 'dHdpY2U');
    const ended = service.end('SIGTERM');
    await eventually(() => expect(supertest(service.url).get('/health')).rejects.toThrow('ECONNREFUSED'));
    service.child.kill('SIGTERM');
    service.child.kill('SIGINT');
    expect(await finish()).toBe(201);
    expect(await ended).toEqual(ENDED_WELL);
  });
});
