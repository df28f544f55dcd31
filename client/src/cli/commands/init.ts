import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { checkPlace } from '../checked-place.js';
import { type Chosen, chooseVault, type VaultOptions } from '../choose-vault.js';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { UsageError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { selected, type SelectionOptions, withSelection } from '../selection.js';
import { DEFAULT_MAX_SIZE, describeSelection, type Settings } from '../settings.js';
import { signIn, type SignedIn, type SignInOptions } from '../sign-in.js';
import { openEngine } from '../sync-engine.js';
import { saveSecrets, SyncedFolder } from '../synced-folder.js';

interface InitOptions extends SignInOptions, VaultOptions, SelectionOptions {
  readonly service?: string;
  readonly device?: string;
  readonly ask?: boolean;
}

export function registerInit(program: Command, run: Run): void {
  withSelection(program.command('init'))
    .description('set up a folder: sign in, and make a vault or open one; again: sign in again')
    .argument('<folder>', 'the folder to sync; created if it does not exist')
    .option('--service <url>', 'address of the service (or SYNC_URL)')
    .option('--token', 'sign in by a personal access token (or ACCESS_TOKEN)')
    .option('--no-browser', 'do not open the sign-in page in a browser')
    .option('--workspace <id>', 'open this workspace')
    .option('--new <name>', 'create a workspace of this name')
    .option('--recovery-key', 'open the vault by a recovery key (or RECOVERY_KEY)')
    .option(
      '--device <name>',
      'name of this device, in the names of conflict copies; the host name unless given',
    )
    .option('--ask', 'do not keep the key of the vault: ask for its password each time')
    .action(
      run(async (context: Context, argument: string, options: InitOptions) => {
        if (options.workspace !== undefined && options.new !== undefined)
          throw new UsageError('--workspace and --new exclude each other');
        const root = await context.place(argument);
        const isAbsent = await checkPlace(root, context.stateHome);
        if (context.options.dryRun === true) return preview(context, root);
        if (isAbsent) await mkdir(root, { recursive: true });
        return context.withLock(SyncedFolder.placeOf(root, context.stateHome), () =>
          init(context, root, options),
        );
      }),
    );
}

/** Call under the lock, so that a folder that another process has just set up is seen. */
async function init(context: Context, root: string, options: InitOptions): Promise<ExitCode> {
  const before = await SyncedFolder.find(root, context.stateHome);
  const workspace = sameWorkspace(before, options);
  const service = await serviceOf(context, before, options);
  const signedIn = await signIn(context, service, options);
  const known = { masterKey: await keptKey(before), hasSlots: before?.settings.hasSlots };
  const choice = { ...options, ...known, workspace, newName: basename(root) };
  const chosen = await chooseVault(context, signedIn.session, choice);
  const settings = settingsOf(root, signedIn, chosen, before, options);
  const folder = await save(context, settings, signedIn, chosen);
  await mark(context, folder, signedIn, chosen);
  tell(context, folder, chosen);
  return EXIT.ok;
}

/** An unreadable key is replaced, because error messages tell users to run `init` in that case. */
async function keptKey(before: SyncedFolder | undefined): Promise<Uint8Array | undefined> {
  try {
    return await before?.masterKey();
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/** A folder that is set up keeps its workspace: another one would merge the two. */
function sameWorkspace(before: SyncedFolder | undefined, options: InitOptions): string | undefined {
  const known = before?.settings.workspace;
  if (known !== undefined && (options.new !== undefined || (options.workspace ?? known) !== known))
    throw new UsageError(
      `this folder is in sync with the workspace ${known}: run \`cloud-sync sign-out --forget\` first`,
    );
  return known ?? options.workspace;
}

async function serviceOf(
  { prompt, env, output }: Context,
  before: SyncedFolder | undefined,
  options: InitOptions,
): Promise<string> {
  const given = options.service ?? env['SYNC_URL'] ?? before?.settings.service;
  if (given === undefined && !prompt.isInteractive)
    throw new UsageError('give the address of the service by --service URL or SYNC_URL');
  const text = given ?? (await prompt.line('Address of the service: '));
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(`${text} is not the address of a service`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError('the address of the service must not have a name or a password in it');
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol === 'http:' && !isLocal)
    output.note(
      'Warning: without https, others on the network can take the sign-in. Contents stay encrypted.',
    );
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function settingsOf(
  folder: string,
  { session }: SignedIn,
  { vault }: Chosen,
  before: SyncedFolder | undefined,
  options: InitOptions,
): Settings {
  const known = before?.settings;
  const device = (options.device ?? known?.device ?? hostname()).trim();
  if (device === '') throw new UsageError('the name of the device must not be empty');
  const settings: Settings = {
    ...{ folder, service: session.baseUrl, workspace: vault.workspaceId, device },
    // Never reset: a service that hides the slots later must be detected.
    ...{ hasSlots: known?.hasSlots === true || vault.hasSlots, keepsKey: options.ask !== true },
    ...{ only: known?.only, maxSize: known?.maxSize ?? DEFAULT_MAX_SIZE },
  };
  return selected(settings, options);
}

/** Saves the secrets before the settings: if the settings exist, so does everything else. */
async function save(
  { stateHome }: Context,
  settings: Settings,
  { credentials }: SignedIn,
  { vault }: Chosen,
): Promise<SyncedFolder> {
  const masterKey = vault.exportMasterKey();
  const bound = { ...credentials, service: settings.service };
  await saveSecrets(settings.folder, stateHome, bound, settings.keepsKey ? masterKey : undefined);
  masterKey.fill(0);
  return SyncedFolder.save(settings, stateHome);
}

/** Marks the folder, so that the first sync already notices an empty mount point in its place. */
async function mark(
  { interruption }: Context,
  folder: SyncedFolder,
  { session }: SignedIn,
  { vault }: Chosen,
): Promise<void> {
  const { settings } = folder;
  const engine = await openEngine({
    folder,
    session,
    settings,
    keys: vault.keys,
    signal: interruption.signal,
  });
  await engine.close();
}

function tell({ output }: Context, { root, state, settings }: SyncedFolder, { isNew }: Chosen): void {
  const { service, workspace, device, keepsKey } = settings;
  const document = { folder: root, service, workspace, isNew, device, state, keepsKey };
  output.result(document, [
    `${root} is set up: workspace ${workspace} at ${service}, as ${device}; ${describeSelection(settings)}`,
    `Its state is in ${state}${keepsKey ? ', with the key of the vault: keep it private' : ''}`,
    'Next: `cloud-sync sync` once, or `cloud-sync watch`',
  ]);
  if (isNew)
    output.note(
      'Nobody can open this vault without its password. Make a recovery key now: `cloud-sync recovery`.',
    );
}

async function preview({ output, stateHome }: Context, folder: string): Promise<ExitCode> {
  const isSetUp = (await SyncedFolder.find(folder, stateHome)) !== undefined;
  output.result({ folder, isSetUp }, [
    isSetUp
      ? `would sign in again for ${folder}`
      : `would set up ${folder}: sign in, and make or open a vault`,
  ]);
  return EXIT.ok;
}
