import type { INestApplicationContext } from '@nestjs/common';
import type { Command } from 'commander';
import { type JobRun, JobRuns, NightlyJobs, TrustedTime } from '../../../platform/jobs/index.js';
import {
  Retention,
  retentionCounts,
  type RetentionOptions,
  type RetentionReport,
  type ThinnedWorkspace,
} from '../../../domain/retention/index.js';
import {
  type AsOf,
  dryRunOption,
  type Report,
  rowCount,
  type Run,
  time,
  withService,
} from '../with-service.js';

const RUNS = 30;

/** Adds `retention run` and `jobs`. */
export function addRetention(program: Command, run: Run): void {
  program
    .command('retention')
    .description('old versions of files')
    .command('run')
    .option(
      '--now <time>',
      'as of this time, ISO 8601, UTC if it has no zone, whatever the clock and earlier runs say',
      time,
    )
    .addOption(dryRunOption())
    .description('thin old versions as the nightly job does; their bytes are deleted 24 hours later')
    .action(({ now, dryRun }: AsOf) => run(() => (dryRun ? previewRetention(now) : runRetention(now))));

  program
    .command('jobs')
    .option('--limit <number>', 'how many runs', rowCount, RUNS)
    .description('the last runs of the nightly jobs, newest first')
    .action(({ limit }: { limit: number }) => run(() => listJobs(limit)));
}

function listJobs(limit: number): Promise<Report> {
  return withService(async (service) => {
    const runs = await service.get(JobRuns).recent(limit);
    return { runs, text: runs.length > 0 ? runs.map(line).join('\n') : 'No job has run yet.' };
  });
}

function line({ name, startedAt, endedAt, counts, error }: JobRun): string {
  const duration = endedAt ? `${(endedAt.getTime() - startedAt.getTime()) / 1000} s` : 'no end';
  const done = Object.entries(counts).map(([what, count]) => `${what} ${count}`);
  const outcome = error === null ? done.join(', ') : [error, ...done].join(', ');
  return `${startedAt.toISOString()}  ${name.padEnd(18)} ${duration.padStart(10)}  ${outcome}`.trimEnd();
}

/**
 * Thins old versions: as of `now` if given, regardless of the clock and earlier runs; otherwise as the nightly job does.
 * @throws Conflict while nightly jobs run
 */
function runRetention(now: Date | undefined): Promise<Report> {
  return withService(async (service) => {
    const workspaces: ThinnedWorkspace[] = [];
    const reports: RetentionReport[] = [];
    await service.get(NightlyJobs).runAlone('retention', async (_, signal) => {
      const report = await thin(service, now, { signal, onWorkspace: (one) => void workspaces.push(one) });
      reports.push(report);
      return retentionCounts(report);
    });
    const [report] = reports;
    if (!report) throw new Error('the retention run returned no report');
    const { asOf, ...counts } = report;
    const text = [
      `As of ${asOf.toISOString()}: ${counts.versions} versions thinned in ${workspaces.length} workspaces`,
      `${counts.blobs} blobs of ${counts.bytes} bytes will be deleted in 24 hours; the longest lock took ${counts.longestLockMs} ms`,
      ...(counts.failed > 0 ? [`${counts.failed} workspaces could not be thinned; the log says why`] : []),
      ...workspaces.map(({ workspaceId, versions }) => `${workspaceId}  ${versions}`),
    ];
    const exitCode = counts.failed > 0 ? 1 : 0;
    return { dryRun: false, asOf, ...counts, workspaces, text: text.join('\n'), exitCode };
  });
}

/** Reports how many versions would be removed, without changing anything. */
function previewRetention(now: Date | undefined): Promise<Report> {
  return withService(async (service) => {
    const workspaces: Pick<ThinnedWorkspace, 'workspaceId' | 'versions'>[] = [];
    const { asOf, versions } = await thin(service, now, {
      isDryRun: true,
      onWorkspace: (one) => void workspaces.push({ workspaceId: one.workspaceId, versions: one.versions }),
    });
    const text = [
      `As of ${asOf.toISOString()}: ${versions} versions would be thinned in ${workspaces.length} workspaces`,
      ...workspaces.map((one) => `${one.workspaceId}  ${one.versions}`),
    ];
    return { dryRun: true, asOf, versions, workspaces, text: text.join('\n') };
  });
}

async function thin(
  service: INestApplicationContext,
  now: Date | undefined,
  options: RetentionOptions,
): Promise<RetentionReport> {
  const retention = service.get(Retention);
  return now ? retention.run(now, options) : retention.runDue(await service.get(TrustedTime).now(), options);
}
