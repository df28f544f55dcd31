import { dataOf, isUuid, type Session, Vault, WrongSecret } from '../core/index.js';
import type { Context } from './context.js';
import { UsageError } from './errors.js';
import { firstPassword } from './new-password.js';

/** Options of `init`. */
export interface VaultOptions {
  /** Open this workspace. */
  readonly workspace?: string | undefined;
  /** Create a workspace with this name. */
  readonly new?: string;
  /** Open it with a recovery key instead of the password. */
  readonly recoveryKey?: boolean;
}

export interface VaultChoice extends VaultOptions {
  /** Name of a new workspace if none was given. */
  readonly newName: string;
  /** The master key of the vault, if this device stores it. */
  readonly masterKey: Uint8Array | undefined;
  /** Whether the vault is known to have key slots. */
  readonly hasSlots: boolean | undefined;
}

export interface Chosen {
  readonly vault: Vault;
  readonly isNew: boolean;
}

interface Listed {
  readonly id: string;
  readonly name: string;
}

/** Opens the vault that the command line names or the user picks, or creates one. */
export async function chooseVault(context: Context, session: Session, choice: VaultChoice): Promise<Chosen> {
  const { workspace, masterKey, newName } = choice;
  if (workspace !== undefined && masterKey && choice.recoveryKey !== true) {
    const vault = await openedByKept(session, workspace, masterKey);
    if (vault) return { vault, isNew: false };
  }
  if (workspace !== undefined) return opened(context, session, workspace, choice);
  if (choice.new !== undefined) return created(context, session, choice.new);
  const { workspaces } = await dataOf(session.api.GET('/api/v1/workspaces'));
  if (workspaces.length === 0) return created(context, session, newName);
  const chosen = await ask(context, workspaces);
  return chosen === undefined
    ? created(context, session, newName)
    : opened(context, session, chosen.id, choice);
}

/** @returns undefined when the stored key does not open the vault; the caller then asks for a secret */
async function openedByKept(
  session: Session,
  workspace: string,
  masterKey: Uint8Array,
): Promise<Vault | undefined> {
  try {
    return await Vault.withMasterKey(session, workspace, masterKey);
  } catch (error) {
    if (error instanceof WrongSecret) return undefined;
    throw error;
  }
}

/** @returns undefined for a new workspace */
async function ask({ prompt, output }: Context, workspaces: readonly Listed[]): Promise<Listed | undefined> {
  const list = workspaces.map(({ id, name }, at) => `  ${at + 1}  ${name} (${id})`);
  if (!prompt.isInteractive)
    throw new UsageError(
      `the account has workspaces: say which by --workspace ID, or create one by --new NAME: ${workspaces.map(({ id, name }) => `${name} (${id})`).join(', ')}`,
    );
  for (const line of ['Workspaces of this account:', ...list, '  n  a new one']) output.note(line);
  for (;;) {
    const answer = (await prompt.line('Which one? ')).trim();
    if (answer === 'n') return undefined;
    const chosen = workspaces[Number(answer) - 1];
    if (chosen) return chosen;
  }
}

async function created({ prompt, output }: Context, session: Session, name: string): Promise<Chosen> {
  output.note(`A new vault: ${name}. Its password encrypts everything; nobody can reset it.`);
  return { vault: await Vault.create(session, name, await firstPassword(prompt)), isNew: true };
}

async function opened(
  { prompt }: Context,
  session: Session,
  id: string,
  { recoveryKey, hasSlots = false }: VaultChoice,
): Promise<Chosen> {
  if (!isUuid(id.toLowerCase())) throw new UsageError(`${id} is not the id of a workspace`);
  const secret =
    recoveryKey === true
      ? { recoveryKey: await prompt.secret('Recovery key of the vault: ', 'RECOVERY_KEY') }
      : { password: await prompt.secret('Password of the vault: ', 'VAULT_PASSWORD') };
  return { vault: await Vault.unlock(session, id, secret, { hasSlots }), isNew: false };
}
