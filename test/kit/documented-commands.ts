import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const DOCS = join(import.meta.dirname, '..', '..', 'docs');

/** A block of commands in a document, with its documented output. */
export interface Commands {
  readonly text: string;
  /** Lines; undefined when the document shows no output. */
  readonly answers: readonly string[] | undefined;
}

/** The `sh` blocks of a document in order, each with the `json` block that directly follows it. */
export async function commandsOf(document: string): Promise<Commands[]> {
  const text = await readFile(join(DOCS, document), 'utf8');
  return [...text.matchAll(/^```sh\n(.*?)^```\n(?:```json\n(.*?)^```$)?/gms)].map(
    ([, commands = '', answers]) => ({
      text: commands,
      answers: answers?.trimEnd().split('\n'),
    }),
  );
}

const BETWEEN = '\u001e';

/** Runs the blocks in order in one shell. @returns the output of each @throws when a command fails */
export async function runCommands(
  blocks: readonly Commands[],
  env: NodeJS.ProcessEnv,
): Promise<{ printed: string[]; stderr: string }> {
  const script = blocks.map(({ text }) => text).join(`\nprintf '\\x1e'\n`);
  const { stdout, stderr } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], { env });
  return { printed: stdout.split(BETWEEN), stderr };
}
