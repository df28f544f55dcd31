import type { INestApplicationContext } from '@nestjs/common';
import { NightlyJobs, TrustedTime } from '../platform/jobs/index.js';
import {
  Retention,
  retentionCounts,
  type RetentionOptions,
  type RetentionReport,
  type ThinnedWorkspace,
} from '../retention/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/**
 * Thins old versions. As of `now` where it is given, whatever the clock and earlier runs say; else as the nightly job
 * does. @throws Conflict while nightly jobs run
 */
export function runRetention(now: Date | undefined): Promise<Report> {
  return withService(async (service) => {
    const workspaces: ThinnedWorkspace[] = [];
    const reports: RetentionReport[] = [];
    await service.get(NightlyJobs).runAlone('retention', async (_, signal) => {
      const report = await thin(service, now, { signal, onWorkspace: (one) => void workspaces.push(one) });
      reports.push(report);
      return retentionCounts(report);
    });
    const [report] = reports;
    if (!report) throw new Error('there is no report');
    const { asOf, ...counts } = report;
    const text = [
      `As of ${asOf.toISOString()}: ${counts.versions} versions thinned in ${workspaces.length} workspaces`,
      `${counts.blobs} blobs of ${counts.bytes} bytes will go 24 hours from now; the longest lock took ${counts.longestLockMs} ms`,
      ...(counts.failed > 0 ? [`${counts.failed} workspaces could not be thinned; the log says why`] : []),
      ...workspaces.map(({ workspaceId, versions }) => `${workspaceId}  ${versions}`),
    ];
    const exitCode = counts.failed > 0 ? 1 : 0;
    return { dryRun: false, asOf, ...counts, workspaces, text: text.join('\n'), exitCode };
  });
}

/** The same without touching anything: how many versions would go. */
export function previewRetention(now: Date | undefined): Promise<Report> {
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
