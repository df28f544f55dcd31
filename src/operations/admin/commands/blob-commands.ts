import type { INestApplicationContext } from '@nestjs/common';
import { type Command, Option } from 'commander';
import { StorageQuota, type StorageUsage } from '../../../domain/assets/index.js';
import { AuditLog, BY_OPERATOR } from '../../../domain/auth/audit/index.js';
import { Configuration, OperatorError } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { Doctor, type Examination, type Finding } from '../../../platform/doctor.js';
import { TrustedTime } from '../../../platform/jobs/index.js';
import { type BlobLocation, BlobMover, BlobPreview, BlobUpkeep } from '../../../platform/storage/index.js';
import {
  type AsOf,
  bytesUpTo,
  type DryRun,
  dryRunOption,
  emailArgument,
  nowOption,
  onAccount,
  type Report,
  type Run,
  withService,
} from '../with-service.js';

/** Adds `blobs sweep`, `blobs move` and `doctor`. */
export function addBlobs(program: Command, run: Run): void {
  const blobs = program.command('blobs').description('stored bytes of files and assets');

  blobs
    .command('sweep')
    .addOption(nowOption())
    .addOption(dryRunOption())
    .description('remove unreferenced blobs')
    .action((options: AsOf) => run(() => sweepBlobs(options)));

  blobs
    .command('move')
    .addOption(new Option('--to <place>', 'target location').choices(LOCATIONS).makeOptionMandatory())
    .addOption(dryRunOption())
    .description('move all blobs that belong there, while the service runs; can be interrupted and repeated')
    .action((options: MoveOptions) => run(() => moveBlobs(options)));

  program
    .command('doctor')
    .option('--deep', 'read every byte')
    .option('--fix', 'repair what can be repaired')
    .addOption(dryRunOption())
    .description('check that database and blob store agree, and that all guarantees hold')
    .action((options: DoctorOptions) => run(() => examine(options)));
}

/** Removes unreferenced blobs, as the service does every ten minutes, or reports what would be removed. */
function sweepBlobs({ now, dryRun }: AsOf): Promise<Report> {
  return withService(async (service) => {
    const asOf = now ?? (await service.get(TrustedTime).now());
    if (dryRun) {
      const due = await service.get(BlobPreview).sweep(asOf);
      const text = `${due.blobs} blobs and ${due.copies} copies left by moves would be removed`;
      return { dryRun, ...due, text };
    }
    const swept = await service.get(BlobUpkeep).sweep(asOf);
    const { blobs, copies, drafts, stuck } = swept;
    const text = `Removed ${blobs} blobs, ${copies} copies left by moves, ${drafts} unfinished uploads`;
    if (stuck === 0) return { ...swept, text };
    return { ...swept, text: `${text}; ${stuck} could not be removed, try again later`, exitCode: 1 };
  });
}

const LOCATIONS: readonly BlobLocation[] = ['inline', 'disk', 's3'];

interface MoveOptions extends DryRun {
  readonly to: BlobLocation;
}

/**
 * Moves all blobs that belong in `to`, while the service runs, or reports how many would be moved.
 * @throws OperatorError when that location is not configured
 */
function moveBlobs({ to, dryRun }: MoveOptions): Promise<Report> {
  return withService(async (service) => {
    expectPlace(service, to);
    if (dryRun) {
      const moved = await service.get(BlobPreview).move(to);
      return { dryRun, to, moved, text: `${moved} blobs would be moved` };
    }
    const moved = await service.get(BlobMover).moveAll(to);
    const text = `Moved ${moved.moved} blobs; ${moved.skipped} are for the next run, ${moved.failed} failed`;
    return { to, ...moved, text, ...(moved.failed > 0 && { exitCode: 1 }) };
  });
}

function expectPlace(service: INestApplicationContext, to: BlobLocation): void {
  const { inlineBlobBytes, hasS3 } = service.get(Configuration);
  if (to === 'inline' && inlineBlobBytes === 0)
    throw new OperatorError('INLINE_BLOB_BYTES is 0: no blob belongs in the database.');
  if (to === 's3' && !hasS3) {
    const names = 'S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY and S3_BUCKET';
    throw new OperatorError(`There is no S3 store; set ${names}.`);
  }
}

/** Findings beyond this are counted, but not listed. */
const TOLD = 1000;

interface DoctorOptions extends DryRun {
  readonly deep?: true;
  readonly fix?: true;
}

/**
 * Checks that the service's guarantees hold; can run next to a running service. Fails when a problem remains unrepaired. A dry
 * run checks but repairs nothing: each finding says what would repair it.
 */
function examine({ deep, fix, dryRun }: DoctorOptions): Promise<Report> {
  return withService(async (service) => {
    const findings: Finding[] = [];
    let found = 0;
    let fixed = 0;
    const now = await service.get(TrustedTime).now();
    const examination = { now, isDeep: deep === true, fix: fix === true && !dryRun };
    if (!dryRun) await recordRun(service, examination);
    for await (const finding of service.get(Doctor).examine(examination)) {
      found += 1;
      if (finding.isFixed) fixed += 1;
      if (findings.length < TOLD) findings.push(finding);
    }
    const remaining = found - fixed;
    const text = [...findings.map(lineOf), summaryOf(found, fixed)].join('\n');
    const fields = { ...(dryRun && { dryRun }), found, fixed, remaining, findings };
    return { ...fields, text, ...(remaining > 0 && { exitCode: 1 }) };
  });
}

function recordRun(service: INestApplicationContext, { isDeep: deep, fix }: Examination): Promise<void> {
  const entry = { action: 'doctor.run', ...BY_OPERATOR, details: { deep, fix } } as const;
  return service.get(Database).transaction((tx) => service.get(AuditLog).recordOfService(entry, tx));
}

function lineOf({ fault, subject, problem, cure, isFixed }: Finding): string {
  return `${fault}: ${subject}: ${problem} ${isFixed ? 'Repaired.' : cure}`;
}

function summaryOf(found: number, fixed: number): string {
  if (found === 0) return 'No problems found';
  const told = found > TOLD ? `, of which ${TOLD} are listed` : '';
  return `Found ${found}${told}; repaired ${fixed}, ${found - fixed} remain`;
}

export function addStorage(program: Command, run: Run): void {
  const set = program.command('storage').description('asset storage of accounts').command('set');
  set
    .addArgument(emailArgument())
    .option('--addon <bytes>', 'bytes in addition to the plan', bytesUpTo(MAX_ADDON_BYTES))
    .addOption(new Option('--locked', 'refuse uploads').conflicts('unlocked'))
    .option('--unlocked', 'accept uploads again')
    .addOption(dryRunOption())
    .description('set add-on bytes, lock or unlock; omitted options change nothing')
    .action((address: string, { dryRun, ...options }: DryRun & StorageOptions) => {
      if (Object.keys(options).length === 0)
        set.error('There is nothing to set: give --addon, --locked or --unlocked.');
      return run(() => setStorage(address, options, dryRun));
    });
}

/** 1 PiB: keeps all sums of bytes far below the largest safe integer. */
const MAX_ADDON_BYTES = 2 ** 50;

/** The command's options; omitted ones leave the setting unchanged. */
interface StorageOptions {
  readonly addon?: number;
  readonly locked?: true;
  readonly unlocked?: true;
}

/** Sets an account's storage beyond its plan, and locks or unlocks it, or reports what would result. @throws NotFound */
function setStorage(address: string, options: StorageOptions, dryRun?: true): Promise<Report> {
  return onAccount(address, async (service, { id, email }) => {
    const quota = service.get(StorageQuota);
    if (!dryRun) {
      const usage = await quota.set(id, partsOf(options));
      return { email, ...usage, text: inWords(email, 'uses', usage, 'is') };
    }
    const before = await quota.usage(id);
    const after = { ...before, ...partsOf(options) };
    const usage = { ...after, quotaBytes: before.quotaBytes - before.addonBytes + after.addonBytes };
    return { dryRun, email, ...usage, text: inWords(email, 'would use', usage, 'would be') };
  });
}

function partsOf({ addon, locked, unlocked }: StorageOptions): Partial<StorageUsage> {
  return {
    ...(addon === undefined ? {} : { addonBytes: addon }),
    ...(locked || unlocked ? { locked: locked === true } : {}),
  };
}

function inWords(email: string, uses: string, usage: StorageUsage, is: string): string {
  const { usedBytes, quotaBytes, addonBytes, locked } = usage;
  const state = locked ? 'locked: it can read and delete, but not upload' : 'not locked';
  return `${email} ${uses} ${usedBytes} of ${quotaBytes} bytes (${addonBytes} of them add-on) and ${is} ${state}`;
}
