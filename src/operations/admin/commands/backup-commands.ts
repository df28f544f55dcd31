import { type Command, Option } from 'commander';
import {
  BackupPlaces,
  Backups,
  type FailoverRequest,
  Failovers,
  type HandledFailover,
  placeOf,
  type RestoreOptions,
  Restores,
} from '../../backup/index.js';
import { type BackupRunOptions, listBackups, runScheduledBackup } from '../scheduled-backup.js';
import { contentsOf, summaryOf, verifyBackup, type VerifyOptions } from '../verify-backup.js';
import { type DryRun, dryRunOption, type Report, type Run, time, withService } from '../with-service.js';

const ADOPT = 'take over the place of backups of another database, which is lost or no longer used';

/** Adds `backup create`, `verify` and `restore`, and for scheduled backups `run` and `list`. */
export function addBackup(program: Command, run: Run): void {
  const backup = program.command('backup').description('back up and restore the database and blobs');

  backup
    .command('create')
    .argument('<directory>', 'target, which is created or empty: a directory or s3://bucket/prefix')
    .description('back up everything except sessions and environment secrets, while the service runs')
    .option('--adopt', ADOPT)
    .action((directory: string, { adopt = false }: { adopt?: boolean }) =>
      run(() => createBackup(directory, adopt)),
    );

  backup
    .command('verify')
    .argument('<directory>', 'where the backup is: a directory or s3://bucket/prefix')
    .addOption(
      new Option(
        '--database <url>',
        'an empty database to restore into, instead of a temporary one',
      ).conflicts('databaseFile'),
    )
    .option('--database-file <file>', 'the same; the file contains the URL, which may have a password')
    .description('restore it temporarily and read every byte')
    .action((directory: string, options: VerifyOptions) => run(() => verifyBackup(directory, options)));

  backup
    .command('restore')
    .argument('<directory>', 'where the backup is: a directory or s3://bucket/prefix')
    .addOption(dryRunOption())
    .option(
      '--adopt-store',
      'use the bucket S3_BUCKET of another database, which is lost or no longer used, with the blobs in it',
    )
    .description('fill an empty database and its blob store, with the service stopped')
    .action((directory: string, { dryRun, ...options }: DryRun & RestoreOptions) =>
      run(() => restoreBackup(directory, options, dryRun)),
    );
  addScheduled(backup, run);
}

function addScheduled(backup: Command, run: Run): void {
  backup
    .command('run')
    .option('--if-due', 'only if one has been due since the last one began')
    .option('--adopt', ADOPT)
    .description('make a scheduled backup in BACKUP_DIR now: verify it, then remove old ones')
    .action((options: BackupRunOptions) => run(() => runScheduledBackup(options)));

  backup
    .command('list')
    .description('list the backups in BACKUP_DIR, oldest first')
    .action(() => run(listBackups));
}

/** Restores into an empty database and store, or reports what would be restored. On failure, nothing is restored. */
function restoreBackup(directory: string, options: RestoreOptions, dryRun?: true): Promise<Report> {
  return withService(async (service) => {
    const restores = service.get(Restores);
    const manifest = await restores[dryRun ? 'preview' : 'restore'](placeOf(directory), options);
    const { adoptsStore, takenAt } = manifest;
    const contents = `${contentsOf(manifest)}, as of ${takenAt}`;
    const text = dryRun ? `${contents}, would be restored` : `Restored ${contents}`;
    const adopted = dryRun
      ? '; the bucket of another database would be taken over'
      : '; took over the bucket of another database';
    const fields = { ...summaryOf(manifest), adoptsStore };
    return { ...(dryRun && { dryRun }), ...fields, text: adoptsStore ? text + adopted : text };
  });
}

/** Backs up database and blobs into an empty directory, while the service runs. Fails if blobs had already lost their bytes. */
function createBackup(directory: string, adopt: boolean): Promise<Report> {
  const path = placeOf(directory);
  return withService(async (service) => {
    await service.get(BackupPlaces).expectOwnAbove(path, adopt);
    const manifest = await service.get(Backups).create(path);
    const { damaged } = manifest;
    const text = `Backed up ${contentsOf(manifest)} to ${path}`;
    const fields = { directory: path, ...summaryOf(manifest), damaged };
    if (damaged.length === 0) return { ...fields, text };
    const lost = `${damaged.length} blobs had already lost their bytes: ${damaged.slice(0, 10).join(', ')}`;
    return { ...fields, text: `${text}\n${lost}`, exitCode: 1 };
  });
}

interface FailoverOptions extends DryRun, FailoverRequest {}

export function addFailover(program: Command, run: Run): void {
  program
    .command('failover')
    .addOption(
      new Option(
        '--since <time>',
        'a time at which this server had everything, ISO 8601, UTC if it has no zone',
      )
        .argParser(time)
        .makeOptionMandatory(),
    )
    .option('--again', 'also when this failover has been handled already', false)
    .addOption(dryRunOption())
    .description(
      'make clients notice that an asynchronous standby has taken over, which may lack the last changes; with all instances stopped',
    )
    .action((options: FailoverOptions) => run(() => handleFailover(options)));
}

/** Advances the heads of all logs beyond every cursor that the lost changes may have had. */
function handleFailover({ since, again, dryRun }: FailoverOptions): Promise<Report> {
  return withService(async (service) => {
    const failovers = service.get(Failovers);
    const done = await failovers[dryRun ? 'preview' : 'handle']({ since, again });
    const { handledAt, ...rest } = done;
    const fields = { since, ...rest, changed: handledAt === undefined, ...(handledAt && { handledAt }) };
    return { ...(dryRun && { dryRun }), ...fields, text: sentenceOf(done, dryRun === true) };
  });
}

function sentenceOf({ handledAt, gap, workspaces }: HandledFailover, isDryRun: boolean): string {
  if (handledAt)
    return `This failover was handled at ${handledAt.toISOString()}; nothing to do. --again advances the heads once more.`;
  if (isDryRun) return `The heads of ${workspaces} workspaces would be advanced by ${gap}`;
  return `Advanced the heads of ${workspaces} workspaces by ${gap}; run doctor --deep, then start the instances`;
}
