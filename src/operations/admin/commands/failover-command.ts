import { type Command, Option } from 'commander';
import { type FailoverRequest, Failovers, type HandledFailover } from '../../backup/index.js';
import { type DryRun, dryRunOption, time } from '../arguments.js';
import type { Report, Run } from '../report.js';
import { withService } from '../with-service.js';

interface FailoverOptions extends DryRun, FailoverRequest {}

/** `failover`. */
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
    const done = await (dryRun ? failovers.preview({ since, again }) : failovers.handle({ since, again }));
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
