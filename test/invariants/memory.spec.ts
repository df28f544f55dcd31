import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { once } from 'node:events';
import { TestWorkspace } from '../kit/index.js';
import { residentBytes } from '../kit/memory.js';
import { type OwnProcess, startOwnProcess } from '../kit/own-process.js';

const MIB = 1024 * 1024;
const SIZE = 100 * MIB;
const ALLOWED = 32 * MIB;

describe('a 100 MiB file', () => {
  let own: OwnProcess;
  let workspace: TestWorkspace;

  beforeAll(async () => {
    own = await startOwnProcess();
    workspace = await own.alice.workspace();
    // A first round, so that what the process needs once is not counted to the file.
    await upload('warm-up', 24 * MIB);
    await download('warm-up');
  });
  afterAll(() => own.end());

  it('goes up and comes down without raising resident memory by more than 32 MiB', async () => {
    const pid = own.service.child.pid!;
    const before = await residentBytes(pid);
    await writeFile(`/proc/${pid}/clear_refs`, '5'); // resets the peak
    const hash = await upload('large', SIZE);
    const afterUpload = await residentBytes(pid, 'VmHWM');
    expect(await download('large')).toEqual({ hash, size: SIZE });
    const afterDownload = await residentBytes(pid, 'VmHWM');
    expect((afterUpload - before) / MIB).toBeLessThan(ALLOWED / MIB);
    expect((afterDownload - before) / MIB).toBeLessThan(ALLOWED / MIB);
  });

  /** Streams a body of a repeated block; returns its hash. */
  async function upload(path: string, size: number): Promise<string> {
    const block = Buffer.alloc(64 * 1024, path);
    const hash = createHash('sha256');
    for (let sent = 0; sent < size; sent += block.length) hash.update(block);
    const contentHash = hash.digest('hex');
    const put = open('PUT', path, {
      'Content-Length': size,
      'X-Content-Hash': contentHash,
      'X-Device-Id': 'laptop',
    });
    const answered = once(put, 'response');
    for (let sent = 0; sent < size; sent += block.length) {
      if (!put.write(block)) await once(put, 'drain');
    }
    put.end();
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(201);
    return contentHash;
  }

  async function download(path: string): Promise<{ hash: string; size: number }> {
    const get = open('GET', path, {});
    get.end();
    const [response] = (await once(get, 'response')) as [IncomingMessage];
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      hash.update(chunk);
      size += chunk.length;
    }
    return { hash: hash.digest('hex'), size };
  }

  function open(method: string, path: string, headers: Record<string, string | number>): ClientRequest {
    const authorization = `Bearer ${workspace.user.token}`;
    return request(own.service.url + workspace.file(path), {
      method,
      headers: { authorization, ...headers },
    });
  }
});
