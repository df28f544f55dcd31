import type { Command } from 'commander';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { sentenceOf } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { KeptCredentials, SyncedFolder } from '../synced-folder.js';

interface SignOutOptions {
  readonly forget?: boolean;
}

export function registerSignOut(program: Command, run: Run): void {
  program
    .command('sign-out')
    .description(
      'end the session of a folder, and remove the key of its vault from this device; the files stay',
    )
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .option('--forget', 'forget the folder as well, with its settings and journal')
    .action(
      run(async (context: Context, argument: string | undefined, options: SignOutOptions) => {
        const folder = await context.folder(argument);
        if (context.options.dryRun === true) return preview(context, folder, options);
        return context.withLock(folder, () => signOut(context, folder, options));
      }),
    );
}

/** Removes the secrets first, so that neither an unreachable service nor a signal leaves them behind. */
async function signOut(context: Context, folder: SyncedFolder, options: SignOutOptions): Promise<ExitCode> {
  const { output } = context;
  const [credentials, unread] = await kept(folder);
  await folder.removeSecrets();
  const problem = credentials ? await end(context, folder, credentials) : unread;
  const isForgotten = options.forget === true;
  if (isForgotten) await folder.removeState();
  const service = credentials?.service ?? folder.settings.service;
  output.result({ folder: folder.root, isForgotten, problem: problem ?? null }, [
    `signed out of ${service}; the files in ${folder.root} stay`,
  ]);
  if (credentials && 'accessToken' in credentials)
    output.note('The access token stays valid until it is revoked on the account page.');
  if (problem !== undefined)
    output.note(`The service could not be told (${problem}): end the session on the account page.`);
  return problem === undefined ? EXIT.ok : EXIT.failed;
}

/** The credentials, or why they cannot be read. */
async function kept(
  folder: SyncedFolder,
): Promise<[credentials: KeptCredentials | undefined, problem: string | undefined]> {
  try {
    return [await folder.keptCredentials(), undefined];
  } catch (error) {
    return [undefined, sentenceOf(error)];
  }
}

/** Ends the session at the service that issued it. @returns why it could not be ended */
async function end(
  context: Context,
  folder: SyncedFolder,
  credentials: KeptCredentials,
): Promise<string | undefined> {
  try {
    await context.sessionWith(folder, credentials).signOut();
    return undefined;
  } catch (error) {
    return sentenceOf(error);
  }
}

function preview({ output }: Context, { root, state }: SyncedFolder, { forget }: SignOutOptions): ExitCode {
  const removed = forget === true ? state : 'credentials and key';
  output.result({ folder: root, removed }, [
    `would sign out, and remove ${removed}; the files in ${root} stay`,
  ]);
  return EXIT.ok;
}
