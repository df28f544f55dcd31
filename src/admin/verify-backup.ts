import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Backups } from '../backup/index.js';
import { type Configuration, configurationOfProcess, OperatorError } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Doctor, type Finding } from '../platform/doctor/index.js';
import { contentsOf, summaryOf } from './create-backup.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';
import { withStores } from './with-stores.js';

export interface VerifyOptions {
  /** An empty database to restore into; an embedded one of the moment unless told. */
  readonly database?: string;
}

/**
 * Restores a backup for a try, with the blobs in a directory of the moment, and reads every byte. Needs as much room as
 * the backup itself, under TMPDIR. @throws what restoring throws
 */
export async function verifyBackup(directory: string, { database }: VerifyOptions): Promise<Report> {
  const scratch = await mkdtemp(join(tmpdir(), 'sync-verify-'));
  try {
    return await withService(
      (service) =>
        withStores(async () => {
          const manifest = await service.get(Backups).restore(resolve(directory));
          const findings: Finding[] = [];
          const examination = { now: service.get(Clock).now(), isDeep: true, fix: false };
          for await (const finding of service.get(Doctor).examine(examination)) findings.push(finding);
          const isWhole = findings.length === 0;
          const verdict = isWhole ? 'is whole' : `has ${findings.length} faults`;
          const text = [`The backup ${verdict}: ${contentsOf(manifest)}, as of ${manifest.takenAt}`];
          for (const { subject, problem } of findings.slice(0, 20)) text.push(`${subject}: ${problem}`);
          return {
            isWhole,
            ...summaryOf(manifest),
            findings,
            text: text.join('\n'),
            ...(!isWhole && { exitCode: 1 }),
          };
        }),
      scratchConfiguration(scratch, database),
    );
  } catch (error) {
    throw asOfOption(error);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The service's own, but for where its data is. */
function scratchConfiguration(dataDir: string, database = ''): Configuration {
  const elsewhere = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY', 'REDIS_URL'];
  const unset = [...elsewhere, ...elsewhere.map((name) => `${name}_FILE`), 'DATABASE_URL_FILE'];
  return configurationOfProcess({
    ...Object.fromEntries(unset.map((name) => [name, ''])),
    DATA_DIR: dataDir,
    DATABASE_URL: database,
  });
}

/** What the start says of DATABASE_URL is said of `--database`, which stands for it here. */
function asOfOption(error: unknown): unknown {
  if (!(error instanceof OperatorError) || !error.message.includes('DATABASE_URL')) return error;
  const message = error.message
    .replace('set DATABASE_URL to a PostgreSQL of your own', 'name an empty database with --database URL')
    .replaceAll('DATABASE_URL', '--database');
  return new OperatorError(message, { cause: error });
}
