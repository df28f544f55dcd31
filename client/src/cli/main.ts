import { Command, CommanderError } from 'commander';
import { Context, type GlobalOptions } from './context.js';
import type { Handler, Register, Run } from './command.js';
import { exitCodeOf, sentenceOf } from './errors.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { registerCheckpoint } from './commands/checkpoint.js';
import { registerCheckpoints } from './commands/checkpoints.js';
import { registerConflicts } from './commands/conflicts.js';
import { registerExport } from './commands/export.js';
import { registerInit } from './commands/init.js';
import { registerLog } from './commands/log.js';
import { registerPassword } from './commands/password.js';
import { registerRecovery } from './commands/recovery.js';
import { registerRestore } from './commands/restore.js';
import { registerRotate } from './commands/rotate.js';
import { registerSignOut } from './commands/sign-out.js';
import { registerStatus } from './commands/status.js';
import { registerSync } from './commands/sync.js';
import { registerDoctor } from './commands/doctor.js';
import { registerWatch } from './commands/watch.js';
import { registerTrash } from './commands/trash.js';
import { Output } from './output.js';
import { Prompt } from './prompt.js';
import { VERSION } from './version.js';

/** In the order of the help text. */
const COMMANDS: readonly Register[] = [
  registerInit,
  registerSync,
  registerWatch,
  registerStatus,
  registerConflicts,
  registerTrash,
  registerLog,
  registerRestore,
  registerCheckpoint,
  registerCheckpoints,
  registerPassword,
  registerRecovery,
  registerRotate,
  registerExport,
  registerDoctor,
  registerSignOut,
];

/** Runs one command line. @returns its exit code */
export async function main(args: readonly string[]): Promise<ExitCode> {
  const output = new Output({
    json: args.includes('--json'),
    stdout: process.stdout,
    stderr: process.stderr,
  });
  let code: ExitCode = EXIT.ok;
  const run: Run =
    <A extends readonly unknown[]>(handler: Handler<A>) =>
    async (...given: unknown[]) => {
      const command = given.at(-1) as Command;
      const options = command.optsWithGlobals<GlobalOptions>();
      const prompt = new Prompt(output, process.env, options.yes === true);
      const context = new Context(output, prompt, options, process.env, process.cwd());
      try {
        code = await handler(context, ...(given.slice(0, -1) as unknown as A));
      } finally {
        prompt.close();
      }
    };
  try {
    await programOf(run, args).parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    return failed(error, output);
  }
}

function programOf(run: Run, args: readonly string[]): Command {
  const program = new Command('cloud-sync')
    .description('Keeps folders in sync with end-to-end encrypted workspaces.')
    .option('--json', 'print one JSON document (`watch`: JSON lines)')
    .option('--dry-run', 'show what would be done, and change nothing')
    .option('--yes', 'answer yes to every question, such as whether to delete many files')
    .exitOverride();
  // Not with a command: `restore` has an option of the same name.
  if (args.every((argument) => argument.startsWith('-'))) program.version(VERSION);
  for (const register of COMMANDS) register(program, run);
  return program;
}

function failed(error: unknown, output: Output): ExitCode {
  const exitCode = exitCodeOf(error);
  if (exitCode === EXIT.ok) return exitCode; // help or version
  const message = sentenceOf(error).replace(/^error: /, '');
  if (output.isJson) output.result({ error: message, exitCode }, []);
  if (!(error instanceof CommanderError)) output.note(`cloud-sync: ${message}`); // commander has printed its own
  return exitCode;
}
