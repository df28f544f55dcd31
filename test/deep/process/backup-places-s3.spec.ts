import type { Report } from '../../../src/operations/admin/with-service.js';
import { BackupBucket } from '../../../src/operations/backup/backup-bucket.js';
import { bytesOf } from '../../../src/operations/backup/backup-parts.js';
import { DatabaseIdentity } from '../../../src/operations/backup/database-identity.js';
import { BackupPlaces } from '../../../src/operations/backup/index.js';
import { SETTLING } from '../../../src/operations/backup/place-mark.js';
import { OperatorError } from '../../../src/platform/config/index.js';
import { S3Fault } from '../../../src/platform/storage/s3/s3-fault.js';
import { S3Objects } from '../../../src/platform/storage/s3/s3-objects.js';
import { adminReport } from '../../kit/admin.js';
import type { TestService } from '../../kit/index.js';
import type { ProcessEnv } from '../../kit/process.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../kit/s3.js';
import { PARTIAL, envOf, refusalOf, useTwoServices } from '../../kit/backup-places.js';

const two = useTwoServices();
const noop = (): void => undefined;

describeWithTestServers('a backup place in S3', () => {
  let s3: TestS3;
  let bucket: string;
  beforeAll(async () => {
    s3 = await startS3();
  });
  beforeEach(() => {
    bucket = s3.bucketName();
    jest.spyOn(SETTLING, 'wait').mockResolvedValue(); // each test has a new place, whose mark would take seconds
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const place = (): string => `s3://${bucket}/of/notes`;
  const s3Env = (service: TestService): ProcessEnv => ({
    ...envOf(service, place()),
    BACKUP_S3_ENDPOINT: s3.endpoint,
    BACKUP_S3_ACCESS_KEY: s3.accessKey,
    BACKUP_S3_SECRET_KEY: s3.secretKey,
  });
  function objects(): S3Objects {
    const { accessKey, secretKey, region, endpoint } = s3;
    return S3Objects.at(
      { isOwn: true, endpoint, accessKey, secretKey, region },
      { bucket, prefix: 'of/notes' },
    );
  }
  const target = (): BackupBucket => new BackupBucket(place(), objects(), two.home);
  const list = async (): Promise<unknown> =>
    (await target().list()).map(({ name, state }) => ({ name, state }));

  it('of one service is refused to another before any removal, and taken over with --adopt', async () => {
    await two.ours.app.get(BackupPlaces).claim(target(), false);
    const old = 'scheduled-2026-01-02T040000.000Z';
    for (const part of ['begun', 'manifest.json', 'verified'])
      await objects().put(`${old}/${part}`, bytesOf('{}'));
    await objects().put(`${PARTIAL.replace('partial', 'scheduled')}/begun`, bytesOf(''), 0);
    const before = await list();
    expect(before).toHaveLength(2);
    await expect(adminReport(s3Env(two.theirs), 'backup', 'run')).rejects.toThrow(refusalOf(place()));
    await expect(adminReport(s3Env(two.theirs), 'backup', 'create', `${place()}/by-hand`)).rejects.toThrow(
      refusalOf(place()),
    );
    expect(await list()).toEqual(before);
    expect(await adminReport(s3Env(two.theirs), 'backup', 'run', '--adopt')).toMatchObject({ removed: 1 });
    await expect(adminReport(s3Env(two.ours), 'backup', 'run')).rejects.toThrow(refusalOf(place()));
  });

  it('that a backup by hand may not read counts as free', async () => {
    await two.ours.app.get(BackupPlaces).claim(target(), false);
    const denied = new S3Fault(Object.assign(new Error(), { code: 'AccessDenied' }), {
      status: 403,
      wasSent: true,
    });
    const asked = jest
      .spyOn(S3Objects.prototype, 'sizeOf')
      .mockRejectedValueOnce(new OperatorError('denied', { cause: denied }));
    const env = s3Env(two.theirs);
    expect(await adminReport(env, 'backup', 'create', `${place()}/by-hand`)).toMatchObject({ damaged: [] });
    asked.mockRestore();
    await expect(adminReport(env, 'backup', 'create', `${place()}/more`)).rejects.toThrow(refusalOf(place()));
  });

  it('keeps the backups of its former owner after a takeover', async () => {
    await adminReport(s3Env(two.ours), 'backup', 'run');
    const before = await list();
    const run = (...more: string[]): Promise<Report> =>
      adminReport(s3Env(two.theirs), 'backup', 'run', ...more);
    expect(await run('--adopt')).toMatchObject({ kept: 1, removed: 0 });
    expect(await run()).toMatchObject({ kept: 1, removed: 1 });
    expect(await list()).toEqual(expect.arrayContaining(before as unknown[]));
  });

  it('has one owner when two databases find it empty at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      bucket = s3.bucketName();
      const claims = [two.ours, two.theirs].map(({ app }) => app.get(BackupPlaces).claim(target(), false));
      const states = (await Promise.allSettled(claims)).map(({ status }) => status);
      expect(states.sort()).toEqual(['fulfilled', 'rejected']);
    }
  });

  it('has one owner even where the store ignores conditional requests', async () => {
    const late = await two.theirs.app.get(DatabaseIdentity).id();
    let [arrive, release, written] = [noop, noop, noop];
    const hasArrived = new Promise<void>((resolve) => (arrive = resolve));
    const mayWrite = new Promise<void>((resolve) => (release = resolve));
    const hasWritten = new Promise<void>((resolve) => (written = resolve));
    // `theirs` finds no mark, and writes its own after `ours` has written its mark and before it waits.
    jest.spyOn(S3Objects.prototype, 'putNew').mockImplementation(async function (
      this: S3Objects,
      path,
      text,
    ) {
      if (text === late) {
        arrive();
        await mayWrite;
      } else await hasArrived;
      await this.put(path, bytesOf(text), text.length);
      if (text === late) written();
      return true;
    });
    jest.spyOn(SETTLING, 'wait').mockImplementation(() => {
      release();
      return hasWritten;
    });
    const claims = [two.ours, two.theirs].map(({ app }) => app.get(BackupPlaces).claim(target(), false));
    void claims[0]!.finally(release).catch(noop);
    expect((await Promise.allSettled(claims)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});
