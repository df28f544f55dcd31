import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { verified } from './archive.js';
import { decryptWorkspace } from './decrypt.js';
import { keysOf, secretOf } from './unlock.js';
import { workspacesIn } from './workspace.js';

const USAGE =
  'usage: node dist/examples/decrypt-export/main.js [--versions] [--recovery-key] export.tar FOLDER';

/** Decrypts an export of an account into an empty folder. The password or recovery key is read from the terminal or standard input. */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      versions: { type: 'boolean', default: false },
      'recovery-key': { type: 'boolean', default: false },
    },
  });
  const [archive, folder, ...others] = positionals;
  if (archive === undefined || folder === undefined || others.length > 0) throw new Error(USAGE);
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty`);
  const { exportedAt, workspaces: known } = await verified(archive);
  console.log(`The export of ${exportedAt} is complete.`);
  for (const { id, wasDeleted } of known)
    if (wasDeleted) console.log(`Workspace ${id} was deleted while it was exported: parts may be missing.`);

  const isRecoveryKey = values['recovery-key'];
  const what = isRecoveryKey ? 'recovery key' : 'password';
  const secret = secretOf(
    await asked(isRecoveryKey ? 'Recovery key of the vault: ' : 'Password of the vault: '),
    isRecoveryKey,
  );
  let opened = 0;
  for (const workspace of await workspacesIn(archive)) {
    const keys = await keysOf(workspace, secret);
    const { name, id } = workspace.facts;
    if (!keys) {
      console.log(`Not opened: ${printable(name)} has another ${what}, or no encryption.`);
      continue;
    }
    opened++;
    const own = join(folder, `${safe(name)} ${id}`);
    const options = { archive, folder: own, withVersions: values.versions };
    const { written, missing } = await decryptWorkspace(workspace, keys, options);
    console.log(`${printable(name)}: ${written} files in ${printable(own)}`);
    for (const path of missing) console.log(`  missing: ${printable(path)}`);
  }
  if (opened === 0) throw new Error(`no workspace opens with this ${what}`);
}

/** Asks without showing what is typed. */
async function asked(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = process.stdin.isTTY;
  const lines = createInterface({ input: process.stdin, output: silent, terminal });
  try {
    for await (const line of lines) return line;
    throw new Error('a password is needed');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}

/** The service knows the name, so it is not trusted as a path. */
const safe = (name: string): string => name.replaceAll(/[^\p{L}\p{N} _-]/gu, '_').slice(0, 80);

const printable = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\ufffd');

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
