import type { INestApplicationContext } from '@nestjs/common';
import {
  BACKUP_JOB,
  BackupDirectory,
  Backups,
  BackupTimes,
  type ListedBackup,
  type Manifest,
  onTrialDatabase,
} from '../backup/index.js';
import { Configuration, configurationOfProcess, OperatorError } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, hasEmbeddedPostgres } from '../platform/database/index.js';
import { Conflict } from '../platform/http/index.js';
import { BACKUP_LOCK, type Counts, NightlyJobs } from '../platform/jobs/index.js';
import { Log } from '../platform/log/index.js';
import { FreeSpace } from '../storage/index.js';
import { contentsOf, summaryOf } from './backup-summary.js';
import type { Report } from './report.js';
import { whileThereIsRoom } from './room-for-backup.js';
import { verifyBackup } from './verify-backup.js';
import { withService } from './with-service.js';

type Made = Counts & Readonly<Record<'kept' | 'removed', number>>;

/** Makes a backup in BACKUP_DIR, verifies it, and removes old ones. @throws OperatorError, Conflict while another runs */
export function runScheduledBackup(ifDue: boolean): Promise<Report> {
  return withService(async (service) => {
    const directory = directoryOf(service.get(Configuration));
    const isDue = (): Promise<boolean> => (ifDue ? service.get(BackupTimes).isDue() : Promise.resolve(true));
    const counts = await service
      .get(NightlyJobs)
      .runApart(BACKUP_JOB, BACKUP_LOCK, isDue, (signal) => makeVerified(service, directory, signal))
      .catch((error: unknown) => {
        if (ifDue && error instanceof Conflict) return undefined; // another instance makes it
        throw error;
      });
    if (!counts) return { made: false, text: 'No backup is due.' };
    const text = `Made a verified backup in ${directory.path}; ${counts.kept} are kept, ${counts.removed} were removed`;
    return { made: true, directory: directory.path, ...counts, text };
  });
}

/** What is removed, and when: drafts of dead runs at first, old backups last. */
async function makeVerified(
  service: INestApplicationContext,
  directory: BackupDirectory,
  signal: AbortSignal,
): Promise<Made> {
  const { stamp, draft, scratch } = await directory.begin(service.get(Clock).now());
  const { dataDir } = service.get(Configuration);
  const disks = { backups: directory.path, dataDir, reserve: service.get(FreeSpace).reserveBytes };
  try {
    const { manifest, fault } = await whileThereIsRoom(disks, async () => ({
      manifest: await service.get(Backups).create(draft),
      fault: await faultOf(service, draft, scratch),
    }));
    signal.throwIfAborted(); // without the lock, another process may be at work here
    if (fault !== undefined) {
      const name = await directory.setAside(draft, stamp);
      throw new OperatorError(`The backup is kept as ${name}: ${fault}`);
    }
    await directory.publish(draft, stamp);
    return { ...sizeOf(manifest), ...(await prune(service, directory, stamp)) };
  } finally {
    await directory.discard(draft).catch(() => undefined); // the next run repeats it
    await directory.discard(scratch).catch(() => undefined);
  }
}

/** Verifies a backup. @returns why it is not known to be whole; undefined when it is */
async function faultOf(
  service: INestApplicationContext,
  draft: string,
  scratch: string,
): Promise<string | undefined> {
  const { databaseUrl } = service.get(Configuration);
  const verify = (database?: string): Promise<Report> => verifyBackup(draft, { trialUrl: database }, scratch);
  try {
    const { exitCode = 0, text } =
      databaseUrl === undefined || hasEmbeddedPostgres()
        ? await verify()
        : await onTrialDatabase(service.get(Database), databaseUrl, verify);
    return exitCode === 0 ? undefined : text.split('\n').slice(0, 2).join('; ');
  } catch (error) {
    return (error as Error).message;
  }
}

/** A backup that cannot be removed does not make the new one worse. */
async function prune(
  service: INestApplicationContext,
  directory: BackupDirectory,
  stamp: string,
): Promise<Record<'kept' | 'removed', number>> {
  const { backupKeep } = service.get(Configuration);
  let removed = 0;
  await service.get(Log).bestEffort('remove old backups', async () => {
    removed = await directory.prune(backupKeep, stamp);
  });
  const listed = await directory.list();
  return { kept: listed.filter(({ state }) => state === 'verified').length, removed };
}

const sizeOf = ({ blobs, tables }: Manifest): Counts => ({
  rows: tables.reduce((sum, { rows }) => sum + rows, 0),
  blobs: blobs.count,
  blobBytes: blobs.bytes,
});

/** Needs neither the service nor the database. */
export async function listBackups(): Promise<Report> {
  const directory = directoryOf(configurationOfProcess());
  const listed = await directory.list();
  const backups = listed.map(({ name, state, manifest }) => ({
    name,
    state,
    ...(manifest && summaryOf(manifest)),
  }));
  const text = listed.map(lineOf).join('\n') || `There are no backups in ${directory.path}`;
  return { directory: directory.path, backups, text };
}

const lineOf = ({ name, state, manifest }: ListedBackup): string =>
  `${name}  ${state}${manifest ? `  ${manifest.takenAt}  ${contentsOf(manifest)}` : ''}`;

function directoryOf({ backupDir }: Configuration): BackupDirectory {
  if (backupDir === undefined)
    throw new OperatorError('Scheduled backups are off: set BACKUP_DIR to a directory for them.');
  return new BackupDirectory(backupDir);
}
