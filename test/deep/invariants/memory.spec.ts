import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { once } from 'node:events';
import { TestWorkspace } from '../../kit/index.js';
import { residentBytes } from '../../kit/memory.js';
import { type OwnProcess, startOwnProcess } from '../../kit/own-process.js';

const MIB = 1024 * 1024;
const SIZE = 100 * MIB;
const ALLOWED = 32 * MIB;
const ROUNDS = 6;

describe('a 100 MiB file', () => {
  let own: OwnProcess;
  let workspace: TestWorkspace;

  beforeAll(async () => {
    own = await startOwnProcess();
    workspace = await own.alice.workspace();
    // A first round, so that memory that the process needs once is not counted.
    await upload('warm-up', 24 * MIB);
    await download('warm-up');
  });
  afterAll(() => own.end());

  it('goes up and comes down without raising resident memory by more than 32 MiB', async () => {
    const before = await residentBytes(own.service.child.pid!);
    const rounds: number[] = [];
    // On a busy machine garbage is collected late; a file that is retained shows in each round.
    while (rounds.length < ROUNDS && !rounds.some((raised) => raised < ALLOWED))
      rounds.push((await peakOf(`large-${rounds.length}`)) - before);
    expect(Math.min(...rounds) / MIB).toBeLessThan(ALLOWED / MIB);
  });

  /** Uploads and downloads a file. @returns the peak of resident memory meanwhile, in bytes */
  async function peakOf(path: string): Promise<number> {
    const pid = own.service.child.pid!;
    await writeFile(`/proc/${pid}/clear_refs`, '5'); // resets the peak
    const hash = await upload(path, SIZE);
    expect(await download(path)).toEqual({ hash, size: SIZE });
    return residentBytes(pid, 'VmHWM');
  }

  /** Streams a body of a repeated block. @returns its hash */
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
