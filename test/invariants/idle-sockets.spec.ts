import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase, TestSocket, TestUser, type TestWorkspace } from '../kit/index.js';
import { residentBytes } from '../kit/memory.js';
import { type ServiceProcess, startProcess } from '../kit/process.js';

const MIB = 1024 * 1024;
const SOCKETS = 2_000;
const AT_ONCE = 300;

describe('2,000 idle sockets on one instance', () => {
  let database: TestDatabase;
  let dataDir: string;
  let service: ServiceProcess;
  let workspaces: TestWorkspace[];

  beforeAll(async () => {
    database = await createDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'sync-sockets-'));
    service = await startProcess({ DATA_DIR: dataDir, DATABASE_URL: database.url });
    const alice = await TestUser.logIn(service.url, 'alice');
    await alice.post('/api/v1/subscription/trial').expect(200);
    workspaces = [];
    for (let i = 0; i < 50; i++) workspaces.push(await alice.workspace());
  });
  afterAll(async () => {
    await service.end('SIGTERM');
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it(`are let in ${AT_ONCE} at a time, stay under 200 MiB resident, and are all told`, async () => {
    const sockets: TestSocket[] = [];
    while (sockets.length < SOCKETS) {
      const part = Array.from({ length: Math.min(AT_ONCE, SOCKETS - sockets.length) }, (_, index) => {
        const workspace = workspaces[(sockets.length + index) % workspaces.length] as TestWorkspace;
        return TestSocket.join(workspace, 'listener');
      });
      sockets.push(...(await Promise.all(part)));
    }
    for (const workspace of workspaces) await workspace.put('note', 'text', 'writer').expect(201);
    for (const socket of sockets) expect(await socket.frame('changes')).toMatchObject({ cursor: 1 });
    expect((await residentBytes(service.child.pid!)) / MIB).toBeLessThan(200);
    for (const socket of sockets) socket.raw.terminate();
  });
});
