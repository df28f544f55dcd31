import { randomBytes } from 'node:crypto';
import { type VaultKeys, deriveVaultKeys } from '../../src/automation/vault-crypto.js';
import { createVault } from '../vault/create.js';
import { KeySlots } from '../vault/key-slots.js';
import { adoptSlots } from '../vault/password.js';
import { unlockByPassword } from '../vault/unlock.js';
import { bodyOf } from './http.js';
import { loadJson, saveJson } from './json-file.js';
import { Session } from './session.js';

/** The demo's stored account data. The vault password never leaves the device. */
interface Account {
  email: string;
  password: string;
  vaultPassword: string;
  workspaceId?: string;
  /** Whether the vault was made with key slots: it never has none then. */
  hasKeySlots?: boolean;
}

interface Workspace {
  id: string;
  encryption_salt: string | null;
}

/** An opened vault: its location and its keys. */
export interface Vault {
  readonly session: Session;
  readonly workspaceId: string;
  readonly keys: VaultKeys;
}

/**
 * Sets up the demo's account on the first run: user, trial and vault. Stored in `file`, except for values from the
 * environment. A run that ends before the vault is complete leaves an empty workspace behind; the next makes another.
 */
export async function setUpAccount(baseUrl: string, file: string, workspaceName: string): Promise<Account> {
  const kept = (await loadJson<Account>(file)) ?? inventAccount();
  await saveJson(file, kept); // before the server sees it: an account is lost without its password

  const account = { ...kept, ...accountOfEnvironment() };
  const session = await Session.open(baseUrl, account);
  await session.call({ method: 'POST', path: '/api/v1/subscription/trial' }, 409); // 409: it was used already
  const workspace = (await workspacesOf(session)).find(({ id }) => id === kept.workspaceId);
  if (!workspace?.encryption_salt) {
    kept.workspaceId = await createVault(session, workspaceName, account.vaultPassword);
    kept.hasKeySlots = true;
    await saveJson(file, kept); // only now: before, nothing opens the vault
  }
  return { ...kept, ...accountOfEnvironment() };
}

/** Opens the vault on a device: signs in, and opens a key slot with the password. */
export async function openVault(baseUrl: string, account: Account): Promise<Vault> {
  const session = await Session.open(baseUrl, account);
  const workspace = (await workspacesOf(session)).find(({ id }) => id === account.workspaceId);
  if (!workspace?.encryption_salt) throw new Error('the workspace no longer exists');
  const vault = await unlockByPassword(new KeySlots(session, workspace.id), account.vaultPassword);
  // A service that hides them would have the client encrypt under a key that anyone with the password can compute.
  if (account.hasKeySlots && !vault.openedBy)
    throw new Error('the service no longer returns the key slots of the vault');
  await adoptSlots(vault, account.vaultPassword);
  return { session, workspaceId: workspace.id, keys: deriveVaultKeys(vault.masterKey) };
}

async function workspacesOf(session: Session): Promise<Workspace[]> {
  const answer = await session.call({ method: 'GET', path: '/api/v1/workspaces' });
  return (bodyOf(answer) as { workspaces: Workspace[] }).workspaces;
}

function inventAccount(): Account {
  return {
    email: `demo-${randomBytes(6).toString('hex')}@example.com`,
    password: randomBytes(18).toString('base64url'),
    vaultPassword: randomBytes(18).toString('base64url'),
  };
}

function accountOfEnvironment(): Partial<Account> {
  const { DEMO_EMAIL, DEMO_PASSWORD, DEMO_VAULT_PASSWORD } = process.env;
  const given = { email: DEMO_EMAIL, password: DEMO_PASSWORD, vaultPassword: DEMO_VAULT_PASSWORD };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value));
}
