import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Clock } from '../../platform/clock.js';
import {
  type Configuration,
  configurationOfProcess,
  OperatorError,
  removeTree,
} from '../../platform/config/index.js';
import { Doctor, type Finding } from '../../platform/doctor.js';
import { type Manifest, placeOf, Restores } from '../backup/index.js';
import { refusePasswordIn } from './password-in-arguments.js';
import { type Report, withService } from './with-service.js';

/** A summary for people. */
export function contentsOf({ tables, blobs }: Manifest): string {
  const rows = (name: string): number => tables.find((table) => table.name === name)?.rows ?? 0;
  return `${rows('users')} accounts, ${rows('workspaces')} workspaces, ${rows('versions')} versions, ${blobs.count} large blobs`;
}

/** A summary for programs. */
export function summaryOf({ takenAt, version, tables, blobs, gone }: Manifest): Record<string, unknown> {
  const rows = Object.fromEntries(tables.map((table) => [table.name, table.rows]));
  return { takenAt, version, rows, blobs, gone: gone.length };
}

/**
 * Kinds of findings that an intact backup may have: a counter that was wrong in the service, which `doctor --fix` recounts, and
 * rows that wait for the sweeper, which does not run in a trial. They are notes; any other kind, including a new one, is a fault.
 */
const NOTED: ReadonlySet<string> = new Set(['quota drift', 'usage drift', 'not swept']);

/** Maximum number of findings, and of notes, that are printed for people. */
const LINES = 20;

export interface VerifyOptions {
  /** An empty database to restore into; by default a temporary embedded one. */
  readonly database?: string;
  /** A file that contains the URL of that database. */
  readonly databaseFile?: string;
  /** Like `database`, for a caller in this process, where a password is not exposed. */
  readonly trialUrl?: string | undefined;
}

/**
 * Restores a backup temporarily, with the blobs in a temporary directory, and reads every byte. Needs as much space in `within`
 * as the backup itself.
 * @returns the faults of the backup as `findings`, and all else that the doctor finds as `notes`
 * @throws the errors of a restore
 */
export async function verifyBackup(
  directory: string,
  options: VerifyOptions = {},
  within = tmpdir(),
): Promise<Report> {
  refusePasswordIn(options.database ?? '', '--database', 'use --database-file FILE');
  const scratch = await mkdtemp(join(within, 'sync-verify-'));
  try {
    return await withService(
      async (service) => {
        const manifest = await service.get(Restores).restore(placeOf(directory));
        const findings: Finding[] = [];
        const notes: Finding[] = [];
        const examination = { now: service.get(Clock).now(), isDeep: true, fix: false };
        for await (const finding of service.get(Doctor).examine(examination))
          (NOTED.has(finding.fault) ? notes : findings).push(finding);
        const isWhole = findings.length === 0;
        const verdict = isWhole ? 'is intact' : `has ${findings.length} faults`;
        const text = [
          `The backup ${verdict}: ${contentsOf(manifest)}, as of ${manifest.takenAt}`,
          ...findings.map(lineOf).slice(0, LINES),
          ...notes.map((note) => `note: ${lineOf(note)}`).slice(0, LINES),
        ];
        return {
          isWhole,
          ...summaryOf(manifest),
          findings,
          notes,
          text: text.join('\n'),
          ...(!isWhole && { exitCode: 1 }),
        };
      },
      scratchConfiguration(scratch, options),
    );
  } catch (error) {
    throw asOfOption(error);
  } finally {
    await removeTree(scratch);
  }
}

const lineOf = ({ subject, problem }: Finding): string => `${subject}: ${problem}`;

/** The service's own configuration, except for the location of its data. */
function scratchConfiguration(
  dataDir: string,
  { database = '', databaseFile = '', trialUrl }: VerifyOptions,
): Configuration {
  const keys = ['S3_ACCESS_KEY', 'S3_SECRET_KEY'];
  const backupKeys = keys.map((name) => `BACKUP_${name}`);
  const files = [...keys, ...backupKeys, 'REDIS_URL'].map((name) => `${name}_FILE`);
  const unset = [...keys, ...files, 'S3_ENDPOINT', 'S3_BUCKET', 'REDIS_URL', 'BACKUP_DIR'];
  const { backupStore } = configurationOfProcess();
  return configurationOfProcess({
    ...Object.fromEntries(unset.map((name) => [name, ''])),
    // The backup is read from its own place, even when that is the store of the blobs.
    BACKUP_S3_ENDPOINT: backupStore?.endpoint,
    BACKUP_S3_ACCESS_KEY: backupStore?.accessKey,
    BACKUP_S3_SECRET_KEY: backupStore?.secretKey,
    BACKUP_S3_REGION: backupStore?.region,
    DATA_DIR: dataDir,
    DATABASE_URL: trialUrl ?? database,
    DATABASE_URL_FILE: databaseFile,
  });
}

/** Rewrites errors of the start about DATABASE_URL to name `--database`, which replaces it here. */
function asOfOption(error: unknown): unknown {
  if (!(error instanceof OperatorError) || !error.message.includes('DATABASE_URL')) return error;
  const message = error.message
    .replace(
      'set DATABASE_URL to a PostgreSQL of your own',
      'name an empty database with --database-file FILE',
    )
    .replaceAll('DATABASE_URL_FILE', '--database-file')
    .replaceAll('DATABASE_URL', '--database');
  return new OperatorError(message, { cause: error });
}
