import { CommanderError } from 'commander';
import { OperatorError } from '../../platform/config/index.js';
import { adminProgram } from './program.js';
import type { Report } from './with-service.js';

const FAILED = 1;
const USAGE = 2;

/**
 * `npm run admin -- COMMAND`: works next to a running service, or starts its database temporarily. Exit codes: 0 success, 1
 * failure, 2 usage error. With `--json`, stdout contains exactly one object: the report, or `{ error }`.
 */
const program = adminProgram(run);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  if (error.exitCode === 0) process.exit(); // the user asked for help
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
    if (isJson()) console.log(JSON.stringify({ error: sentence ?? 'unexpected error; see stderr' }));
    // Ending the process also ends everything that a failed start has opened, including an embedded database.
    process.exit(FAILED);
  }
}

/** The usage error. Without a command, commander prints its help and has no message. */
function usageOf({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'no command given; --help lists them' : message.replace(/^error: /, '');
}

/** The message of an expected error. */
function sentenceOf(error: unknown): string | undefined {
  const isForeseen = error instanceof OperatorError || (error instanceof Error && 'status' in error);
  return isForeseen ? (error as Error).message : undefined;
}

function isJson(): boolean {
  return program.opts<{ json?: true }>().json === true;
}
