import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { TestWorkspace } from '../../kit/index.js';
import { residentBytes } from '../../kit/memory.js';
import { startOwnProcess } from '../../kit/own-process.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../kit/s3.js';

const MIB = 1024 * 1024;
const ALLOWED_MIB = 32;

describeWithTestServers('a 100 MiB file in S3', () => {
  let s3: TestS3;
  beforeAll(async () => {
    s3 = await startS3();
  });

  /** The rise of resident memory in MiB of a new process: one that had such a file has room for the next. */
  async function rise(): Promise<number> {
    const { service, alice, end } = await startOwnProcess(s3.env(s3.bucketName()));
    try {
      const pid = service.child.pid!;
      const notes = await alice.workspace();
      await there(notes, 'warm-up', randomBytes(16 * MIB)); // needs memory once: not counted
      const before = await residentBytes(pid);
      await writeFile(`/proc/${pid}/clear_refs`, '5'); // resets the peak
      await there(notes, 'large', randomBytes(100 * MIB));
      return ((await residentBytes(pid, 'VmHWM')) - before) / MIB;
    } finally {
      await end();
    }
  }

  async function there(notes: TestWorkspace, path: string, content: Buffer): Promise<void> {
    await notes.put(path, content).expect(201);
    const { body } = await notes.get(path).expect(200);
    expect(content.equals(body as Buffer)).toBe(true);
  }

  it(`goes up and comes down without raising resident memory by more than ${ALLOWED_MIB} MiB`, async () => {
    const rises: number[] = [];
    // On a busy machine garbage is collected late; memory that is retained shows in each round.
    while (rises.length < 6 && !(rises.at(-1)! < ALLOWED_MIB)) rises.push(await rise());
    expect(Math.min(...rises)).toBeLessThan(ALLOWED_MIB);
  });
});
