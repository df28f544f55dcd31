import type { Command } from 'commander';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Backups, type Manifest } from '../../backup/index.js';
import { type Configuration, configurationOfProcess, OperatorError } from '../../config/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Doctor, type Finding } from '../../platform/doctor/index.js';
import { type DryRun, dryRunOption } from '../arguments.js';
import type { Report, Run } from '../report.js';
import { withService, withStores } from '../with-service.js';

/** `backup create`, `backup verify` and `backup restore`. */
export function addBackup(program: Command, run: Run): void {
  const backup = program.command('backup').description('back up and restore the database and blobs');

  backup
    .command('create')
    .argument('<directory>', 'target directory: created, or empty')
    .description('back up everything except sessions and environment secrets, while the service runs')
    .action((directory: string) => run(() => createBackup(directory)));

  backup
    .command('verify')
    .argument('<directory>', 'where the backup is')
    .option('--database <url>', 'an empty database to restore into, instead of a temporary one')
    .description('restore it temporarily and read every byte')
    .action((directory: string, options: VerifyOptions) => run(() => verifyBackup(directory, options)));

  backup
    .command('restore')
    .argument('<directory>', 'where the backup is')
    .addOption(dryRunOption())
    .description('fill an empty database and blob store, with the service stopped')
    .action((directory: string, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewRestore(directory) : restoreBackup(directory))),
    );
}

/** Restores into an empty database and store. On failure, nothing is restored. */
function restoreBackup(directory: string): Promise<Report> {
  return withService((service) =>
    withStores(async () => {
      const manifest = await service.get(Backups).restore(resolve(directory));
      const text = `Restored ${contentsOf(manifest)}, as of ${manifest.takenAt}`;
      return { ...summaryOf(manifest), text };
    }),
  );
}

/** Reports what would be restored, if a restore is possible. */
function previewRestore(directory: string): Promise<Report> {
  return withService(async (service) => {
    const manifest = await service.get(Backups).preview(resolve(directory));
    const text = `${contentsOf(manifest)}, as of ${manifest.takenAt}, would be restored`;
    return { dryRun: true, ...summaryOf(manifest), text };
  });
}

interface VerifyOptions {
  /** An empty database to restore into; by default a temporary embedded one. */
  readonly database?: string;
}

/**
 * Restores a backup temporarily, with the blobs in a temporary directory, and reads every byte. Needs as much space as the backup
 * itself, under TMPDIR. @throws the errors of a restore
 */
async function verifyBackup(directory: string, { database }: VerifyOptions): Promise<Report> {
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
          const verdict = isWhole ? 'is intact' : `has ${findings.length} faults`;
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

/** The service's own configuration, except for the location of its data. */
function scratchConfiguration(dataDir: string, database = ''): Configuration {
  const elsewhere = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY', 'REDIS_URL'];
  const unset = [...elsewhere, ...elsewhere.map((name) => `${name}_FILE`), 'DATABASE_URL_FILE'];
  return configurationOfProcess({
    ...Object.fromEntries(unset.map((name) => [name, ''])),
    DATA_DIR: dataDir,
    DATABASE_URL: database,
  });
}

/** Rewrites errors of the start about DATABASE_URL to name `--database`, which replaces it here. */
function asOfOption(error: unknown): unknown {
  if (!(error instanceof OperatorError) || !error.message.includes('DATABASE_URL')) return error;
  const message = error.message
    .replace('set DATABASE_URL to a PostgreSQL of your own', 'name an empty database with --database URL')
    .replaceAll('DATABASE_URL', '--database');
  return new OperatorError(message, { cause: error });
}

/** Backs up database and blobs into an empty directory, while the service runs. Fails if blobs had already lost their bytes. */
function createBackup(directory: string): Promise<Report> {
  const path = resolve(directory);
  return withService((service) =>
    withStores(async () => {
      const manifest = await service.get(Backups).create(path);
      const { damaged } = manifest;
      const text = `Backed up ${contentsOf(manifest)} to ${path}`;
      const fields = { directory: path, ...summaryOf(manifest), damaged };
      if (damaged.length === 0) return { ...fields, text };
      const lost = `${damaged.length} blobs had already lost their bytes: ${damaged.slice(0, 10).join(', ')}`;
      return { ...fields, text: `${text}\n${lost}`, exitCode: 1 };
    }),
  );
}

/** A summary for people. */
function contentsOf({ tables, blobs }: Manifest): string {
  const rows = (name: string): number => tables.find((table) => table.name === name)?.rows ?? 0;
  return `${rows('users')} accounts, ${rows('workspaces')} workspaces, ${rows('versions')} versions, ${blobs.count} large blobs`;
}

/** A summary for programs. */
function summaryOf({ takenAt, version, tables, blobs, gone }: Manifest): Record<string, unknown> {
  const rows = Object.fromEntries(tables.map((table) => [table.name, table.rows]));
  return { takenAt, version, rows, blobs, gone: gone.length };
}
