import { mkdir, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import {
  decryptWorkspace,
  type ExportedWorkspace,
  ExportOutput,
  exportSecret,
  keysOf,
  tellsSecrets,
  verified,
  workspacesIn,
} from '../../export/index.js';
import type { VaultKeys } from '../../core/index.js';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { SecretNeeded, UsageError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { leftOverLines } from '../lists.js';

interface ExportOptions {
  readonly out: string;
  readonly versions?: boolean;
  readonly recoveryKey?: boolean;
}

export function registerExport(program: Command, run: Run): void {
  program
    .command('export')
    .description('decrypt the export of an account, which its page gives; needs no network')
    .argument('<archive>', 'the .tar file')
    .requiredOption(
      '--out <directory>',
      'where the files go: an empty directory, created if it does not exist',
    )
    .option('--versions', 'write old versions and deleted files too')
    .option('--recovery-key', 'open the vaults by a recovery key (or RECOVERY_KEY)')
    .action(
      run((context: Context, archive: string, options: ExportOptions) =>
        decryptExport(context, resolve(context.cwd, archive), options),
      ),
    );
}

/** Most bytes of the name and of the id in `NAME ID`, which must be a valid directory name on every disk. */
const MOST_NAME_BYTES = 100;

interface WorkspaceDocument {
  readonly id: string;
  readonly name: string;
  /** Null when the workspace has another password, or nothing was ever encrypted in it. */
  readonly directory: string | null;
  readonly written: number;
  readonly leftOver: readonly { readonly path: string; readonly reason: string }[];
}

async function decryptExport(context: Context, archive: string, options: ExportOptions): Promise<ExitCode> {
  const { output } = context;
  const out = resolve(context.cwd, options.out);
  const files = await readdir(out).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  if (files.length > 0) throw new UsageError(`${out} is not empty`);
  const { exportedAt, workspaces: known } = await verified(archive);
  output.note(`The export of ${exportedAt} is complete.`);
  for (const { id, wasDeleted } of known)
    if (wasDeleted) output.note(`Workspace ${id} was deleted while it was exported: parts may be missing.`);
  const opened = await openedVaults(context, archive, options);
  if (context.options.dryRun !== true) await mkdir(out, { recursive: true });
  const workspaces: WorkspaceDocument[] = [];
  for (const [workspace, keys] of opened)
    workspaces.push(await decryptOne(context, archive, out, options, workspace, keys));
  const leftOver = workspaces.flatMap((one) => one.leftOver);
  output.result({ out, exportedAt, workspaces }, workspaces.flatMap(linesOf));
  return leftOver.length > 0 ? EXIT.leftOver : EXIT.ok;
}

async function openedVaults(
  { prompt }: Context,
  archive: string,
  { recoveryKey = false }: ExportOptions,
): Promise<[ExportedWorkspace, VaultKeys | undefined][]> {
  const typed = recoveryKey
    ? await prompt.secret('Recovery key of the vault: ', 'RECOVERY_KEY')
    : await prompt.secret('Password of the vault: ', 'VAULT_PASSWORD');
  const secret = await exportSecret(typed, recoveryKey);
  const opened: [ExportedWorkspace, VaultKeys | undefined][] = [];
  for (const workspace of await workspacesIn(archive))
    opened.push([workspace, await keysOf(workspace, secret)]);
  const telling = opened.filter(([workspace]) => tellsSecrets(workspace)); // an empty vault without slots opens with any secret
  if (!(telling.length > 0 ? telling : opened).some(([, keys]) => keys))
    throw new SecretNeeded(`no workspace opens with this ${recoveryKey ? 'recovery key' : 'password'}`);
  return opened;
}

async function decryptOne(
  { output, options: { dryRun } }: Context,
  archive: string,
  out: string,
  options: ExportOptions,
  workspace: ExportedWorkspace,
  keys: VaultKeys | undefined,
): Promise<WorkspaceDocument> {
  const { id, name } = workspace.facts;
  if (!keys) {
    const leftOver = isEncrypted(workspace) ? [{ path: name, reason: 'has another password' }] : [];
    return { id, name, directory: null, written: 0, leftOver };
  }
  const directory = `${safe(name)} ${safe(id)}`;
  const { written, leftOver } = await decryptWorkspace(workspace, keys, {
    ...{ archive, directory, output: new ExportOutput(out, dryRun), withVersions: options.versions === true },
    onProgress: (path) => output.progress(`decrypt ${path}`),
  });
  return { id, name, directory, written, leftOver };
}

const isEncrypted = ({ facts }: ExportedWorkspace): boolean => facts.encryptionSalt !== null;

function linesOf({ name, directory, written, leftOver }: WorkspaceDocument): string[] {
  return [
    directory === null ? `${name}: not opened` : `${name}: ${written} files in ${directory}`,
    ...leftOverLines(leftOver),
  ];
}

/** Names and ids come from the service, so they are not trusted as paths. */
function safe(name: string): string {
  const harmless = Array.from(name.normalize('NFC').replaceAll(/[^\p{L}\p{N} _-]/gu, '_'));
  while (Buffer.byteLength(harmless.join('')) > MOST_NAME_BYTES) harmless.pop();
  return harmless.join('');
}
