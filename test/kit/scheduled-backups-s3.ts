import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../../src/operations/admin/with-service.js';
import { BackupBucket } from '../../src/operations/backup/backup-bucket.js';
import { bytesOf } from '../../src/operations/backup/backup-parts.js';
import { SETTLING } from '../../src/operations/backup/place-mark.js';
import { PATIENCE } from '../../src/platform/storage/s3/s3-connection.js';
import { S3Objects } from '../../src/platform/storage/s3/s3-objects.js';
import { adminReport } from './admin.js';
import { FaultProxy } from './fault-proxy.js';
import { startService, type TestService } from './index.js';
import { enterEnvironment, type ProcessEnv } from './process.js';
import { startS3, type TestS3 } from './s3.js';
import { useInTests } from './use-in-tests.js';

export const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
export const OLD = ['scheduled-2026-01-01T040000.000Z', 'scheduled-2026-01-02T040000.000Z'] as const;
export const NEW = expect.stringMatching(/^scheduled-\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z$/) as string;

/** Larger than one part of a multipart upload. */
export const LARGE = 5 * 2 ** 20 + 1;
const SIZES = [3000, 3000, LARGE];
const patience = PATIENCE.ms;

/** Call outside of all tests. A service with scheduled backups in S3, which it reaches through a proxy. */
export function useBackupsInS3(): BackupsInS3 {
  return useInTests(new BackupsInS3());
}

export class BackupsInS3 {
  s3!: TestS3;
  proxy!: FaultProxy;
  home!: string;
  service!: TestService;
  bucket!: string;
  env!: ProcessEnv;
  leave!: () => void;

  readonly open = async () => {
    this.s3 = await startS3();
    this.proxy = await FaultProxy.before(this.s3.endpoint);
    this.home = await mkdtemp(join(tmpdir(), 'sync-backup-s3-'));
    this.service = await startService({
      env: { ...SETTINGS, BACKUP_DIR: 's3://unused', ...this.store(), METRICS_PORT: '0' },
    });
    const notes = await (await this.service.user('alice')).workspace('notes');
    for (const [file, size] of SIZES.entries())
      await notes.put(`file-${file}`, randomBytes(size)).expect(201);
  };

  readonly close = async () => {
    await this.service.close();
    await this.proxy.close();
    await rm(this.home, { recursive: true, force: true });
  };

  readonly beginTest = async () => {
    await this.service.database.query('TRUNCATE job_runs');
    this.bucket = this.s3.bucketName();
    this.env = {
      ...SETTINGS,
      ...this.store(),
      BACKUP_DIR: `s3://${this.bucket}/of/notes/`,
      BACKUP_KEEP: '2',
      DATABASE_URL: this.service.database.url,
      DATA_DIR: this.service.dataDir,
    };
    this.leave = enterEnvironment(this.env);
    jest.spyOn(SETTLING, 'wait').mockResolvedValue(); // each test has a new place, whose mark would take seconds
  };

  readonly endTest = () => {
    this.leave();
    this.proxy.heal();
    jest.restoreAllMocks();
    PATIENCE.ms = patience;
  };

  readonly store = (): ProcessEnv => ({
    BACKUP_S3_ENDPOINT: this.proxy.url,
    BACKUP_S3_ACCESS_KEY: this.s3.accessKey,
    BACKUP_S3_SECRET_KEY: this.s3.secretKey,
  });

  readonly admin = (...args: string[]): Promise<Report> => adminReport(this.env, ...args);

  /** The objects of BACKUP_DIR, not through the proxy. */
  objects(): S3Objects {
    const { accessKey, secretKey, region, endpoint } = this.s3;
    const settings = { isOwn: true, endpoint, accessKey, secretKey, region };
    return S3Objects.at(settings, { bucket: this.bucket, prefix: 'of/notes' });
  }

  readonly target = (): BackupBucket =>
    new BackupBucket(`s3://${this.bucket}/of/notes`, this.objects(), this.home);

  async states(): Promise<[string, string][]> {
    return (await this.target().list()).map(({ name, state }) => [name, state]);
  }

  async plant(...names: string[]): Promise<void> {
    await this.objects().makeBucket();
    for (const name of names)
      for (const part of ['begun', 'manifest.json', 'verified'])
        await this.objects().put(`${name}/${part}`, bytesOf('{}'));
  }
}
