import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const DOCS = join(import.meta.dirname, '..', '..', 'docs');

/** A block of commands as it stands in a document, and what it is said to print. */
export interface Commands {
  readonly text: string;
  /** Lines; undefined where the document says nothing. */
  readonly answers: readonly string[] | undefined;
}

/** The blocks of `sh` in a document, in their order, each with the block of `json` that follows it at once. */
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

/** Runs blocks one after the other in one shell; what each of them has printed. @throws when a command fails */
export async function runCommands(
  blocks: readonly Commands[],
  env: NodeJS.ProcessEnv,
): Promise<{ printed: string[]; stderr: string }> {
  const script = blocks.map(({ text }) => text).join(`\nprintf '\\x1e'\n`);
  const { stdout, stderr } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], { env });
  return { printed: stdout.split(BETWEEN), stderr };
}
