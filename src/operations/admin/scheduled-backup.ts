import type { INestApplicationContext } from '@nestjs/common';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Clock } from '../../platform/clock.js';
import {
  Configuration,
  configurationOfProcess,
  isInS3,
  OperatorError,
  removeTree,
} from '../../platform/config/index.js';
import { Database, hasEmbeddedPostgres } from '../../platform/database/index.js';
import { Conflict } from '../../platform/http/index.js';
import { BACKUP_LOCK, type Counts, NightlyJobs } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log.js';
import { diskSpace, FreeSpace } from '../../platform/storage/index.js';
import {
  BACKUP_JOB,
  BackupPlaces,
  Backups,
  type BackupTarget,
  BackupTimes,
  type ListedBackup,
  type Manifest,
  type Names,
  onTrialDatabase,
  withTarget,
} from '../backup/index.js';
import { contentsOf, summaryOf, verifyBackup } from './verify-backup.js';
import { type Report, withService } from './with-service.js';

const LOOK_EVERY_MS = 250;

/**
 * Required free space, as a multiple of the reserve: covers what is written between two checks and until the process has ended.
 */
const MARGIN = 1.5;

interface Disks {
  /** The directory in which `work` writes. */
  readonly path: string;
  readonly dataDir: string;
  /** Name of `path` in error messages. */
  readonly subject: string;
  /** Free bytes on the disk of DATA_DIR below which uploads are refused; 0: no reserve. */
  readonly reserve: number;
}

/**
 * Runs `work` while the disk of DATA_DIR has room: a backup on the same disk must not make the service refuse uploads. On another
 * disk it may use all space. Danger: `work` goes on after the error; the caller must remove its files and end.
 * @throws OperatorError when the room runs out, even before it begins
 */
export async function whileThereIsRoom<T>(disks: Disks, work: () => Promise<T>): Promise<T> {
  if (!(await isShared(disks))) return work();
  await expectRoom(disks);
  let timer: NodeJS.Timeout | undefined;
  const outOfRoom = new Promise<never>((_, reject) => {
    timer = setInterval(() => void expectRoom(disks).catch(reject), LOOK_EVERY_MS);
  });
  try {
    return await Promise.race([work(), outOfRoom]);
  } finally {
    clearInterval(timer);
  }
}

async function isShared({ path, dataDir, reserve }: Disks): Promise<boolean> {
  if (reserve === 0) return false;
  const [one, other] = await Promise.all([stat(path), stat(dataDir)]);
  return one.dev === other.dev;
}

async function expectRoom({ path, reserve, subject }: Disks): Promise<void> {
  const { free = Infinity } = await diskSpace(path);
  if (free >= reserve * MARGIN) return;
  throw new OperatorError(
    `The disk of ${subject} is that of DATA_DIR and too full for a backup: uploads need its last ${reserve} bytes; use another disk.`,
  );
}

type Made = Counts & Readonly<Record<'kept' | 'removed', number>>;

interface Notes {
  /** The names of backups of other databases. */
  left: readonly string[];
}

export interface BackupRunOptions {
  /** Whether to do nothing unless a backup is due. */
  readonly ifDue?: boolean;
  /** Whether to take BACKUP_DIR over from another database. */
  readonly adopt?: boolean;
}

/** Makes a backup in BACKUP_DIR, verifies it, and removes old ones. @throws OperatorError, Conflict while another runs */
export function runScheduledBackup({ ifDue = false, adopt = false }: BackupRunOptions): Promise<Report> {
  return withService((service) =>
    withTarget(service.get(Configuration), async (target) => {
      const notes: Notes = { left: [] };
      const isDue = (): Promise<boolean> =>
        ifDue ? service.get(BackupTimes).isDue() : Promise.resolve(true);
      const counts = await service
        .get(NightlyJobs)
        .runApart(BACKUP_JOB, BACKUP_LOCK, isDue, (signal) =>
          makeVerified(service, target, { adopt, signal, notes }),
        )
        .catch((error: unknown) => {
          if (ifDue && error instanceof Conflict) return undefined; // another process makes one
          throw error;
        });
      if (!counts) return { made: false, text: 'No backup is due.' };
      const { left } = notes;
      const made = `Made a verified backup in ${target.path}; ${counts.kept} are kept, ${counts.removed} were removed`;
      const text = left.length > 0 ? `${made}; ${sentenceOf(left)}` : made;
      return { made: true, directory: target.path, ...counts, ...(left.length > 0 && { left }), text };
    }),
  );
}

/** Removes the drafts of dead runs before making the backup, and old backups only after publishing it. */
async function makeVerified(
  service: INestApplicationContext,
  target: BackupTarget,
  { adopt, signal, notes }: { adopt: boolean; signal: AbortSignal; notes: Notes },
): Promise<Made> {
  const places = service.get(BackupPlaces);
  const id = await places.claim(target, adopt);
  const spared = await places.othersIn(target, id);
  const { stamp, draft, scratch } = await target.begin(service.get(Clock).now(), spared);
  let isKept = false;
  try {
    const { manifest, fault, isCutOff } = await made(service, target, draft, scratch);
    signal.throwIfAborted(); // without the lock, another process may be at work here
    await target.mark.expect(id); // the place may have been taken over meanwhile
    isKept = true;
    if (fault !== undefined) {
      // A trial that was cut off fills the disk until this process ends: do not delay that by removing anything.
      const name = isCutOff ? basename(draft) : await target.setAside(draft, stamp, spared);
      throw new OperatorError(`The backup is kept as ${name}: ${fault}`);
    }
    await target.publish(draft, stamp, spared);
    notes.left = [...spared];
    return { ...sizeOf(manifest), ...(await prune(service, target, stamp, spared)) };
  } finally {
    if (!isKept) await target.discard(draft).catch(() => undefined); // the next run repeats it
    await removeTree(scratch).catch(() => undefined);
  }
}

/** In a directory, backup and trial share a disk. In S3, the trial uses a disk of this machine after the backup is complete. */
async function made(
  service: INestApplicationContext,
  { path }: BackupTarget,
  draft: string,
  scratch: string,
): Promise<{ manifest: Manifest; fault: string | undefined; isCutOff?: boolean }> {
  const { dataDir } = service.get(Configuration);
  const reserve = service.get(FreeSpace).reserveBytes;
  const create = (): Promise<Manifest> => service.get(Backups).create(draft, { isTidied: true });
  const verify = (): Promise<string | undefined> => faultOf(service, draft, scratch);
  if (!isInS3(path))
    return whileThereIsRoom({ path, dataDir, reserve, subject: 'BACKUP_DIR' }, async () => ({
      manifest: await create(),
      fault: await verify(),
    }));
  const disk = { path: scratch, dataDir, reserve, subject: 'the trial of the backup' };
  const manifest = await create();
  try {
    return { manifest, fault: await whileThereIsRoom(disk, verify) };
  } catch (error) {
    return { manifest, fault: (error as Error).message, isCutOff: true };
  }
}

/** Verifies a backup. @returns its fault; undefined when it is known to be intact */
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

/** Removes old backups. A failure does not affect the new one. */
async function prune(
  service: INestApplicationContext,
  target: BackupTarget,
  stamp: string,
  spared: Names,
): Promise<Record<'kept' | 'removed', number>> {
  const { backupKeep } = service.get(Configuration);
  let removed = 0;
  await service.get(Log).bestEffort('remove old backups', async () => {
    removed = await target.prune(backupKeep, stamp, spared);
  });
  const listed = await target.list();
  const kept = listed.filter(({ name, state }) => state === 'verified' && !spared.has(name));
  return { kept: kept.length, removed };
}

const sentenceOf = (left: readonly string[]): string =>
  `${left.length} of another database are left, to be removed by hand: ${left.join(', ')}`;

const sizeOf = ({ blobs, tables }: Manifest): Counts => ({
  rows: tables.reduce((sum, { rows }) => sum + rows, 0),
  blobs: blobs.count,
  blobBytes: blobs.bytes,
});

/** Needs neither the service nor the database. */
export function listBackups(): Promise<Report> {
  return withTarget(configurationOfProcess(), async (target) => {
    const listed = await target.list();
    const backups = listed.map(({ name, state, manifest }) => ({
      name,
      state,
      ...(manifest && summaryOf(manifest)),
    }));
    const text = listed.map(lineOf).join('\n') || `There are no backups in ${target.path}`;
    return { directory: target.path, backups, text };
  });
}

const lineOf = ({ name, state, manifest }: ListedBackup): string =>
  `${name}  ${state}${manifest ? `  ${manifest.takenAt}  ${contentsOf(manifest)}` : ''}`;
