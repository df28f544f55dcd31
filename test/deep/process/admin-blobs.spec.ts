import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { adminEnded, type Ended, refusedStart } from '../../kit/ended.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { ADMIN, runProcess } from '../../kit/process.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../kit/s3.js';
import { TestBucket } from '../../kit/stored-blobs.js';

let service: TestService;
let notes: TestWorkspace;

const env = (): Record<string, string> => ({
  DATA_DIR: service.dataDir,
  DATABASE_URL: service.database.url,
});
/** The command in this process. */
const admin = (args: string[], more: Record<string, string> = {}): Promise<Ended> =>
  adminEnded({ ...env(), ...more }, ...args);
/** The object that `--json` prints as the last line of a separate process. */
const json = async (args: string[], more?: Record<string, string>): Promise<Record<string, unknown>> => {
  const { code, output } = await runProcess({ ...env(), ...more }, ADMIN, ['--json', ...args]);
  return { code, ...(JSON.parse(output.trim().split('\n').at(-1) ?? '') as object) };
};

async function begin(more: Record<string, string> = {}): Promise<void> {
  service = await startService({ env: more });
  notes = await (await service.user('alice')).workspace();
}

describe('npm run admin, beside a running service', () => {
  beforeAll(() => begin());
  afterAll(() => service.close());

  it('blobs sweep removes unreferenced blobs, as of the time of --now', async () => {
    await service.database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, created_at) VALUES ($1, $2, 'staged', 'disk', now())`,
      [notes.id, randomUUID()],
    );
    const later = new Date(Date.now() + 61 * 60_000).toISOString();
    const swept = await json(['blobs', 'sweep', '--now', later]);
    expect(swept).toEqual({ code: 0, blobs: 1, copies: 0, drafts: 0, stuck: 0 });
  });

  it('backup verify accepts no password in its arguments, which every user can see', async () => {
    for (const url of ['postgres://sync:hidden@127.0.0.1:1/verify', 'postgres:///verify?password=hidden'])
      expect(await admin(['backup', 'verify', service.dataDir, '--database', url])).toEqual({
        code: 1,
        stdout: '',
        stderr: 'A password in --database is visible to every user; use --database-file FILE.\n',
      });
  });

  it('doctor exits with 1 while something is wrong, names the remedy, and repairs with --fix', async () => {
    const [workspace, id] = [randomUUID(), randomUUID()];
    const path = join(service.dataDir, 'blobs', workspace, id.slice(-2), id);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, 'left');
    await utimes(path, 0, 0);

    const told = await admin(['doctor']);
    expect(told.code).toBe(1);
    expect(told.stdout).toMatch(
      /^orphan: \S+: The disk store has bytes that no row refers to\. Run `doctor --fix`/,
    );
    expect(told.stdout).toMatch(/\nFound 1; repaired 0, 1 remain\n$/);
    const fault = { fault: 'orphan', subject: `${workspace}/${id}` };
    const counts = { found: 1, fixed: 1, remaining: 0 };
    expect(await json(['doctor', '--fix'])).toMatchObject({ code: 0, ...counts, findings: [fault] });
  });

  it('blobs move reports in one sentence why it cannot run', async () => {
    const move = (to: string): Promise<Ended> =>
      admin(['blobs', 'move', '--to', to], { INLINE_BLOB_BYTES: '0' });
    const names = 'S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY and S3_BUCKET';
    const refused = (sentence: string): Ended => ({ code: 1, stdout: '', stderr: `${sentence}\n` });
    expect(await move('s3')).toEqual(refused(`There is no S3 store; set ${names}.`));
    expect(await move('inline')).toEqual(refused('INLINE_BLOB_BYTES is 0: no blob belongs in the database.'));
    expect(await move('tape')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('choices are inline, disk, s3'),
    });
  });
});

describeWithTestServers('npm run admin, with S3', () => {
  let s3: TestS3;
  let bucket: TestBucket;
  beforeAll(async () => {
    s3 = await startS3();
    bucket = new TestBucket(s3, s3.bucketName());
    await begin(s3.env(bucket.name));
  });
  afterAll(() => service.close());

  it('blobs move takes intact blobs from S3 to disk, and doctor finds the damaged one', async () => {
    const withS3 = s3.env(bucket.name);
    const contents = { YQ: randomBytes(200_000), Yg: randomBytes(200_000) };
    for (const [path, content] of Object.entries(contents)) await notes.put(path, content).expect(201);
    const [first] = await bucket.keys();
    await bucket.put(first!, randomBytes(14));

    const moved = await json(['blobs', 'move', '--to', 'disk'], withS3);
    expect(moved).toMatchObject({ code: 1, to: 'disk', moved: 1, failed: 1 });
    const { body } = await notes.get('Yg').expect(200);
    expect(contents.Yg.equals(body as Buffer)).toBe(true);
    await notes.get('YQ').expect(500);

    const { code, stdout } = await admin(['doctor', '--deep'], withS3);
    expect(stdout).toContain(
      `bytes missing or damaged: ${first}: It has 14 bytes instead of 200000 in the s3 store.`,
    );
    expect(stdout).toMatch(/\nFound 1; repaired 0, 1 remain\n$/);
    expect(code).toBe(1);
  });

  it('a service with a wrong key does not start, and does not print the key', async () => {
    const wrong = { ...s3.env(s3.bucketName()), S3_SECRET_KEY: 'a-secret-that-is-wrong' };
    const { code, stdout, stderr } = await refusedStart({ ...env(), ...wrong });
    expect(stdout + stderr).toMatch(
      /^The S3 store at 127\.0\.0\.1:\d+ refuses this S3_SECRET_KEY; check it\.\n$/,
    );
    expect(code).toBe(1);
  });
});
