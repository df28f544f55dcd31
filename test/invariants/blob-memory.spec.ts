import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase, TestUser, type TestWorkspace } from '../kit/index.js';
import { residentBytes } from '../kit/memory.js';
import { type ServiceProcess, startProcess } from '../kit/process.js';
import { describeWithTestServers, startS3 } from '../kit/s3.js';

const MIB = 1024 * 1024;
const ALLOWED_MIB = 32;

describeWithTestServers('a 100 MiB file in S3', () => {
  let database: TestDatabase;
  let dataDir: string;
  let service: ServiceProcess;
  let notes: TestWorkspace;

  beforeAll(async () => {
    const s3 = await startS3();
    database = await createDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'sync-memory-'));
    service = await startProcess({
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      ...s3.env(s3.bucketName()),
    });
    const alice = await TestUser.logIn(service.url, 'alice');
    await alice.post('/api/v1/subscription/trial').expect(200);
    notes = await alice.workspace();
    // A first round, so that what the process needs once is not counted to the file.
    await there('warm-up', randomBytes(16 * MIB));
  });
  afterAll(async () => {
    await service.end('SIGTERM');
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function there(path: string, content: Buffer): Promise<void> {
    await notes.put(path, content).expect(201);
    const { body } = await notes.get(path).expect(200);
    expect(content.equals(body as Buffer)).toBe(true);
  }

  it(`goes up and comes down without raising resident memory by more than ${ALLOWED_MIB} MiB`, async () => {
    const pid = service.child.pid!;
    const rises: number[] = [];
    // Garbage that was not collected in time is no part of it, and does not come each time.
    while (rises.length < 6 && !(rises.at(-1)! < ALLOWED_MIB)) {
      const before = await residentBytes(pid);
      await writeFile(`/proc/${pid}/clear_refs`, '5'); // resets the peak
      await there(`large-${rises.length}`, Buffer.alloc(100 * MIB, `large ${rises.length}`));
      rises.push(((await residentBytes(pid, 'VmHWM')) - before) / MIB);
    }
    expect(Math.min(...rises)).toBeLessThan(ALLOWED_MIB);
  });
});
