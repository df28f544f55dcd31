import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { BlobStores } from '../../../src/platform/storage/blob-store.js';
import { TestAssets } from '../../kit/assets.js';
import { footprint } from '../../kit/footprint.js';
import { eventually, sha256, startService, type TestService, type TestWorkspace } from '../../kit/index.js';

const SIZE = 600_000; // a multiple of three: base64 without padding
const content = randomBytes(SIZE);

let service: TestService;
let workspace: TestWorkspace;
beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  workspace = await (await service.user('alice')).workspace();
});
afterAll(() => service.close());

const assets = (): TestAssets => TestAssets.of(workspace);

function open(method: string, path: string, headers: Record<string, string | number> = {}): ClientRequest {
  const authorization = `Bearer ${workspace.user.token}`;
  return request(service.url + path, {
    method,
    headers: { authorization, 'X-Workspace-Id': workspace.id, ...headers },
  });
}

const onDisk = async (): Promise<number> =>
  (await footprint(service, workspace.id)).onDisk.reduce((sum, size) => sum + size, 0);

/** Sends half of a body, and the rest once the service has stored some of it. */
async function sendInHalves(upload: ClientRequest, body: Buffer): Promise<void> {
  const before = await onDisk();
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.write(body.subarray(0, body.length / 2));
  try {
    await eventually(async () => expect(await onDisk()).toBeGreaterThan(before));
  } finally {
    upload.end(body.subarray(body.length / 2));
  }
  const [response] = await answered;
  response.resume();
  expect(response.statusCode).toBe(201);
}

/** Requests a body, whose first chunk must arrive before the store yields the second. */
async function receiveInParts(download: ClientRequest): Promise<Buffer> {
  const disk = await service.app.get(BlobStores).at('disk');
  const read = disk.read.bind(disk);
  let isReleased = false;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve)).then(() => (isReleased = true));
  disk.read = async (...blob) => {
    const chunks = await read(...blob);
    return Readable.from(
      (async function* () {
        for await (const chunk of chunks as AsyncIterable<Buffer>) {
          yield chunk;
          await released;
        }
      })(),
    );
  };
  const received: Buffer[] = [];
  try {
    download.on('response', (response) => response.on('data', (chunk: Buffer) => received.push(chunk)));
    const closed = once(download, 'close');
    download.end();
    await eventually(() => expect(received).not.toEqual([]));
    expect(isReleased).toBe(false);
    release();
    await closed;
  } finally {
    release();
    disk.read = read;
  }
  return Buffer.concat(received);
}

describe('a file that is too large for its row', () => {
  it('is stored while it arrives, and sent while it is read', async () => {
    const headers = { 'X-Content-Hash': sha256(content), 'X-Device-Id': 'laptop', 'Content-Length': SIZE };
    await sendInHalves(open('PUT', workspace.file('bGFyZ2U'), headers), content);
    const received = await receiveInParts(open('GET', workspace.file('bGFyZ2U')));
    expect(received.equals(content)).toBe(true);
  });
});

describe('an asset', () => {
  it('is decoded and stored while it arrives, and encoded while it is read', async () => {
    const text = content.toString('base64');
    const body = Buffer.from(JSON.stringify({ encryptedFilename: 'large', data: text }));
    const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
    await sendInHalves(open('POST', '/api/assets', headers), body);
    expect((await assets().list()).map(({ sizeBytes }) => sizeBytes)).toEqual([SIZE]);
    const received = await receiveInParts(open('GET', '/api/assets/large'));
    expect(received.equals(Buffer.from(text))).toBe(true);
  });
});
