import { randomBytes } from 'node:crypto';
import { sha256, type TestWorkspace } from '../../kit/index.js';
import { keptBytes } from '../../kit/collections.js';
import { compiled } from '../../kit/process.js';
import { type OwnProcess, startOwnProcess } from '../../kit/own-process.js';
import { HttpClient, type HttpRequest } from '../../kit/model/http-client.js';

const WARM_UP = 1_000;
const MEASURED = 1_500;
const AT_ONCE = 8;
const SIZE = 4096;
/** It has been 8 KiB of an upload and 30 KiB of a page. */
const MOST_KEPT_BYTES = 2.5 * 1024;

describe('a finished request', () => {
  let own: OwnProcess;
  let workspace: TestWorkspace;
  const client = new HttpClient();

  beforeAll(async () => {
    own = await startOwnProcess({}, compiled('--trace-gc'));
    workspace = await own.alice.workspace();
    await inParallel(200, upload); // so that there is something to pull
  });
  afterAll(async () => {
    client.close();
    await own.end();
  });

  it.each([
    ['an upload', () => upload()],
    ['a pull of 100 changes', () => pull()],
  ])('leaves less than 2.5 KiB of %s for collections of all memory', async (_, ask) => {
    await inParallel(WARM_UP, ask);
    const begin = own.service.output().length;
    await inParallel(MEASURED, ask);
    const { collections, bytes } = keptBytes(own.service.output().slice(begin));
    expect(collections).toBeGreaterThan(2);
    expect(bytes / MEASURED).toBeLessThan(MOST_KEPT_BYTES);
  });

  async function upload(): Promise<void> {
    const body = randomBytes(SIZE);
    const path = workspace.file(randomBytes(16).toString('base64url'));
    await send(201, {
      method: 'PUT',
      path,
      headers: { 'x-content-hash': sha256(body), 'x-device-id': 'laptop' },
      body,
    });
  }

  async function pull(): Promise<void> {
    const body = { deviceId: 'laptop', cursor: 0, limit: 100 };
    await send(200, { method: 'POST', path: `${workspace.path}/sync/pull`, body });
  }

  /** On persistent connections, as devices use them. */
  async function send(status: number, { headers, ...request }: HttpRequest): Promise<void> {
    const authorization = `Bearer ${workspace.user.token}`;
    const answer = await client.send(own.service.url, {
      ...request,
      headers: { authorization, ...headers },
    });
    expect(answer.status).toBe(status);
  }
});

async function inParallel(total: number, work: () => Promise<void>): Promise<void> {
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun++ < total) await work();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}
