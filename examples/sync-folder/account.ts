import { randomBytes } from 'node:crypto';
import {
  type VaultKeys,
  deriveMasterKey,
  deriveVaultKeys,
  verificationHash,
} from '../../src/automation/vault-crypto.js';
import { bodyOf } from './http.js';
import { loadJson, saveJson } from './json-file.js';
import { Session } from './session.js';

/** The demo's stored account data. The vault password never leaves the device. */
interface Account {
  email: string;
  password: string;
  vaultPassword: string;
  workspaceId?: string;
  /** Not secret, but no route returns it: a real client keeps its own copy, or skips the check. */
  verificationSalt?: string;
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
 * Sets up the demo's account on the first run: user, trial, workspace and encryption. Stored in `file`, except for
 * values from the environment.
 */
export async function setUpAccount(baseUrl: string, file: string, workspaceName: string): Promise<Account> {
  const kept = (await loadJson<Account>(file)) ?? inventAccount();
  await saveJson(file, kept); // before the server sees it: an account is lost without its password

  const session = await Session.open(baseUrl, { ...kept, ...accountOfEnvironment() });
  await session.call({ method: 'POST', path: '/api/v1/subscription/trial' }, 409); // 409: it was used already
  let workspace = (await workspacesOf(session)).find(({ id }) => id === kept.workspaceId);
  if (!workspace) {
    const json = { name: workspaceName };
    const call = { method: 'POST', path: '/api/v1/workspaces', json, repeatable: false } as const;
    workspace = { ...(bodyOf(await session.call(call)) as { id: string }), encryption_salt: null };
    kept.workspaceId = workspace.id;
    await saveJson(file, kept);
  }
  if (workspace.encryption_salt === null) {
    kept.verificationSalt = randomBytes(32).toString('hex');
    await saveJson(file, kept);
    const { vaultPassword } = { ...kept, ...accountOfEnvironment() };
    await setUpEncryption(session, workspace.id, vaultPassword, kept.verificationSalt);
  }
  return { ...kept, ...accountOfEnvironment() };
}

/** Opens the vault on a device: signs in, fetches the salt, derives the keys from the password, and verifies them. */
export async function openVault(baseUrl: string, account: Account): Promise<Vault> {
  const session = await Session.open(baseUrl, account);
  const workspace = (await workspacesOf(session)).find(({ id }) => id === account.workspaceId);
  if (!workspace?.encryption_salt) throw new Error('the workspace no longer exists');
  const masterKey = await deriveMasterKey(account.vaultPassword, workspace.encryption_salt);
  if (account.verificationSalt !== undefined) {
    const path = `/api/v1/workspaces/${workspace.id}/verify-password`;
    const json = { verificationHash: verificationHash(masterKey, account.verificationSalt) };
    const answer = await session.call({ method: 'POST', path, json });
    if (!(bodyOf(answer) as { valid: boolean }).valid) throw new Error('the vault password is wrong');
  }
  return { session, workspaceId: workspace.id, keys: deriveVaultKeys(masterKey) };
}

/** Runs once per workspace: a different salt would make it a different vault. */
async function setUpEncryption(
  session: Session,
  workspaceId: string,
  vaultPassword: string,
  verificationSalt: string,
): Promise<void> {
  const encryptionSalt = randomBytes(32).toString('hex');
  const masterKey = await deriveMasterKey(vaultPassword, encryptionSalt);
  const json = {
    encryptionSalt,
    verificationSalt,
    verificationHash: verificationHash(masterKey, verificationSalt),
  };
  const path = `/api/v1/workspaces/${workspaceId}/setup-encryption`;
  await session.call({ method: 'POST', path, json }, 409); // 409: a retry of a call that succeeded; openVault verifies it
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
