import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase, TestUser, type TestWorkspace } from '../kit/index.js';
import { keptBytes } from '../kit/collections.js';
import { compiled, type ServiceProcess, startProcess } from '../kit/process.js';

const WARM_UP = 1_000;
const MEASURED = 1_500;
const AT_ONCE = 8;
const SIZE = 4096;
/** It was 8 KiB of an upload and 30 of a page before anybody looked. */
const MOST_KEPT_BYTES = 2.5 * 1024;

describe('a request that is over', () => {
  let database: TestDatabase;
  let dataDir: string;
  let service: ServiceProcess;
  let workspace: TestWorkspace;

  beforeAll(async () => {
    database = await createDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'sync-young-'));
    service = await startProcess({ DATA_DIR: dataDir, DATABASE_URL: database.url }, compiled('--trace-gc'));
    const alice = await TestUser.logIn(service.url, 'alice');
    await alice.post('/api/v1/subscription/trial').expect(200);
    workspace = await alice.workspace();
    await inParallel(200, upload); // for the pages that are pulled
  });
  afterAll(async () => {
    await service.end('SIGTERM');
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it.each([
    ['an upload', () => upload()],
    ['a pull of 100 changes', () => pull()],
  ])('leaves nothing of %s for a collection of all memory', async (_, ask) => {
    await inParallel(WARM_UP, ask);
    const begin = service.output().length;
    await inParallel(MEASURED, ask);
    const { collections, bytes } = keptBytes(service.output().slice(begin));
    expect(collections).toBeGreaterThan(2);
    expect(bytes / MEASURED).toBeLessThan(MOST_KEPT_BYTES);
  });

  async function upload(): Promise<void> {
    const body = new Uint8Array(randomBytes(SIZE));
    const path = randomBytes(16).toString('base64url');
    const hash = createHash('sha256').update(body).digest('hex');
    const headers = { 'x-content-hash': hash, 'x-device-id': 'laptop' };
    await send('PUT', workspace.file(path), 201, { headers, body });
  }

  async function pull(): Promise<void> {
    const body = JSON.stringify({ deviceId: 'laptop', cursor: 0, limit: 100 });
    const path = `/api/v1/workspaces/${workspace.id}/sync/pull`;
    await send('POST', path, 200, { headers: { 'content-type': 'application/json' }, body });
  }

  /** On kept connections, as devices have them. */
  async function send(
    method: string,
    path: string,
    status: number,
    { headers, body }: { headers: Record<string, string>; body: string | Uint8Array<ArrayBuffer> },
  ): Promise<void> {
    const authorization = `Bearer ${workspace.user.token}`;
    const answer = await fetch(service.url + path, { method, headers: { authorization, ...headers }, body });
    expect(answer.status).toBe(status);
    await answer.arrayBuffer();
  }
});

async function inParallel(total: number, work: () => Promise<void>): Promise<void> {
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun++ < total) await work();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}
