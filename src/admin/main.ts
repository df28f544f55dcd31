import { CommanderError } from 'commander';
import { OperatorError } from '../config/index.js';
import { adminProgram } from './program.js';
import type { Report } from './report.js';

const FAILED = 1;
const USAGE = 2;

/**
 * `npm run admin -- COMMAND`: works beside a running service, or with its database started for the moment. Exit codes:
 * 0 done, 1 failed, 2 used wrongly. With `--json` stdout has one object and nothing else: the report, or `{ error }`.
 */
const program = adminProgram(run);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  if (error.exitCode === 0) process.exit(); // help was asked for
  if (isJson()) console.log(JSON.stringify({ error: usageOf(error) }));
  process.exit(USAGE);
}

async function run(work: () => Promise<Report>): Promise<void> {
  try {
    const { text, exitCode = 0, ...fields } = await work();
    console.log(isJson() ? JSON.stringify(fields) : text);
    process.exitCode = exitCode;
  } catch (error) {
    const sentence = sentenceOf(error);
    console.error(sentence ?? error);
    if (isJson()) console.log(JSON.stringify({ error: sentence ?? 'unexpected; stderr says more' }));
    // What a start that has failed had opened, an embedded database included, goes with the process.
    process.exit(FAILED);
  }
}

/** What was wrong. Without a command the library prints its help, and has no sentence. */
function usageOf({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'name a command; --help lists them' : message.replace(/^error: /, '');
}

/** Of a fault that can be foreseen. */
function sentenceOf(error: unknown): string | undefined {
  const isForeseen = error instanceof OperatorError || (error instanceof Error && 'status' in error);
  return isForeseen ? (error as Error).message : undefined;
}

function isJson(): boolean {
  return program.opts<{ json?: true }>().json === true;
}
