import { type JobRun, JobRuns } from '../platform/jobs/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** The last runs of the nightly jobs, newest first. */
export function listJobs(limit: number): Promise<Report> {
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
