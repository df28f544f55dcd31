import type { Command } from 'commander';
import { adminProgram } from '../../src/operations/admin/program.js';
import type { Report } from '../../src/operations/admin/with-service.js';
import { enterEnvironment, type ProcessEnv } from './process.js';

/**
 * Runs an admin command in this process, without its printing: starting a process takes a second.
 * @param env added to the test's own environment
 * @returns its report; throws the command's error
 */
export async function adminReport(env: ProcessEnv, ...args: string[]): Promise<Report> {
  const reports: Report[] = [];
  const program = adminProgram(async (work) => void reports.push(await work()));
  keepQuiet(program);
  const leave = enterEnvironment(env);
  try {
    await program.parseAsync(args, { from: 'user' });
  } finally {
    leave();
  }
  const [report] = reports;
  if (!report) throw new Error('the command has told nothing');
  return report;
}

function keepQuiet(command: Command): void {
  command.configureOutput({ writeErr: () => undefined });
  command.commands.forEach(keepQuiet);
}

/** The report as `--json` prints it. */
export async function adminJson(env: ProcessEnv, ...args: string[]): Promise<Record<string, unknown>> {
  const report = await adminReport(env, ...args);
  return JSON.parse(JSON.stringify({ ...report, text: undefined, exitCode: undefined })) as Record<
    string,
    unknown
  >;
}
