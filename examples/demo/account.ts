import { randomBytes } from 'node:crypto';
import {
  ApiError,
  dataOf,
  Session,
  type SessionOptions,
  Vault,
  type VaultKeys,
} from '../../client/src/core/index.js';
import { loadJson, saveJson } from '../json-file.js';

/** The demo's stored account data. The vault password never leaves the device. */
export interface Account {
  email: string;
  password: string;
  vaultPassword: string;
  /** Set once the vault can be opened. */
  workspaceId?: string;
  /** Whether the vault was created with key slots: it then always has some. */
  hasKeySlots?: boolean;
}

/** An opened vault: its location and its keys. */
export interface OpenVault {
  readonly session: Session;
  readonly workspaceId: string;
  readonly keys: VaultKeys;
}

/**
 * Sets up the demo's account on the first run: user, trial and vault. Stored in `file`, except for values from the
 * environment. An interrupted run leaves an empty workspace behind; the next run creates another.
 */
export async function setUpAccount(baseUrl: string, file: string, workspaceName: string): Promise<Account> {
  const kept = (await loadJson<Account>(file)) ?? inventAccount();
  await saveJson(file, kept); // before the request: without the password, the account would be lost

  const account = { ...kept, ...accountOfEnvironment() };
  const session = await signedIn(baseUrl, account);
  await startTrial(session);
  const { workspaces } = await dataOf(session.api.GET('/api/v1/workspaces'));
  if (!workspaces.some(({ id }) => id === kept.workspaceId)) {
    const vault = await Vault.create(session, workspaceName, account.vaultPassword);
    kept.workspaceId = vault.workspaceId;
    kept.hasKeySlots = vault.hasSlots;
    await saveJson(file, kept); // not earlier: until now, nothing opens the vault
  }
  return { ...kept, ...accountOfEnvironment() };
}

/** Opens the vault on a device: signs in, and unlocks it with the password. */
export async function openVault(
  baseUrl: string,
  { workspaceId, vaultPassword, hasKeySlots = false, ...account }: Account,
  options?: SessionOptions,
): Promise<OpenVault> {
  if (workspaceId === undefined) throw new Error('the account has no vault yet');
  const session = await Session.signIn(baseUrl, account, options);
  const secret = { password: vaultPassword };
  const { keys } = await Vault.unlock(session, workspaceId, secret, { hasSlots: hasKeySlots });
  return { session, workspaceId, keys };
}

/** Signs in, or signs up when the account does not exist yet. */
async function signedIn(baseUrl: string, { email, password }: Account): Promise<Session> {
  try {
    return await Session.signIn(baseUrl, { email, password });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
  const { ok } = await fetch(`${baseUrl}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: new URL(baseUrl).origin },
    body: JSON.stringify({ email, password, name: email }),
  });
  if (!ok) throw new Error(`${email} can neither sign in with this password nor sign up`);
  return Session.signIn(baseUrl, { email, password });
}

async function startTrial(session: Session): Promise<void> {
  try {
    await session.send({ method: 'POST', path: '/api/v1/subscription/trial' });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error; // the trial was used already
  }
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
