import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { assetToken, TestAssets } from '../../kit/assets.js';

import { residentBytes } from '../../kit/memory.js';
import { type OwnProcess, startOwnProcess } from '../../kit/own-process.js';

const MIB = 1024 * 1024;
const ALLOWED = 32 * MIB;
const AT_ONCE = 6;
const ROUNDS = 4;

/** 25 MiB and 61 bytes in base64. */
const LENGTH = 4 * Math.ceil((25 * MIB + 61) / 3);
const TAIL = 'AAA=';

describe('the largest assets', () => {
  let own: OwnProcess;
  let assets: TestAssets;

  beforeAll(async () => {
    own = await startOwnProcess();
    assets = TestAssets.of(await own.alice.workspace());
  });
  afterAll(() => own.end());

  it('six at once go up and come down without raising resident memory by more than 32 MiB', async () => {
    const pid = own.service.child.pid!;
    await upload('warm-up');
    await download('warm-up');
    const before = await residentBytes(pid);
    const rounds: number[] = [];
    // On a busy machine garbage is collected late; memory that is retained shows in each round.
    while (rounds.length < ROUNDS && !(rounds.at(-1)! < ALLOWED)) {
      await writeFile(`/proc/${pid}/clear_refs`, '5'); // resets the peak
      const tokens = Array.from({ length: AT_ONCE }, assetToken);
      await Promise.all(tokens.map(upload));
      expect(await Promise.all(tokens.map(download))).toEqual(tokens.map(() => LENGTH));
      rounds.push((await residentBytes(pid, 'VmHWM')) - before);
    }
    expect(Math.min(...rounds)).toBeLessThan(ALLOWED);
  });

  const headers = (): Record<string, string> => ({
    Authorization: `Bearer ${assets.user.token}`,
    'X-Workspace-Id': assets.workspaceId,
  });

  /** Streams a body of one repeated block. */
  async function upload(token: string): Promise<void> {
    const head = `{"encryptedFilename":"${token}","data":"`;
    const end = `${TAIL}"}`;
    const length = head.length + LENGTH - TAIL.length + end.length;
    const post = request(`${own.service.url}/api/assets`, {
      method: 'POST',
      headers: { ...headers(), 'Content-Length': length },
    });
    const answered = once(post, 'response');
    post.write(head);
    const block = Buffer.alloc(64 * 1024, 'QUJD');
    for (let left = LENGTH - TAIL.length; left > 0; left -= block.length) {
      if (!post.write(block.subarray(0, left))) await once(post, 'drain');
    }
    post.end(end);
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(201);
  }

  /** @returns the number of characters received */
  async function download(token: string): Promise<number> {
    const get = request(`${own.service.url}/api/assets/${token}`, { headers: headers() });
    get.end();
    const [response] = (await once(get, 'response')) as [IncomingMessage];
    let length = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) length += chunk.length;
    return length;
  }
});
