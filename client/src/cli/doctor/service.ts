import { deriveVaultKeys, type Session, Vault } from '../../core/index.js';
import type { Context } from '../context.js';
import type { SyncedFolder } from '../synced-folder.js';
import { failed, type Finding, ok, warning } from './check.js';

const API_VERSION = '1';
const MOST_SKEW_MS = 60_000;

/** The service must answer, have the API version of this client, and agree about the time. */
export async function checkService(session: Session): Promise<Finding[]> {
  const answer = await session.send({ method: 'GET', path: '/openapi.json' });
  const document = (await answer.json()) as { readonly info?: { readonly version?: unknown } } | null;
  const version = document?.info?.version;
  const skew = Date.parse(answer.headers.get('date') ?? '') - Date.now();
  return [
    ok('service', `${session.baseUrl} answers`),
    version === API_VERSION
      ? ok('version', `the service has version ${API_VERSION} of the interface`)
      : failed('version', 'the service has another version of the interface: update this client'),
    Number.isNaN(skew) || Math.abs(skew) <= MOST_SKEW_MS
      ? ok('clock', 'this clock and that of the service agree')
      : warning(
          'clock',
          `this clock is ${Math.round(Math.abs(skew) / 1_000)} s ${skew > 0 ? 'slow' : 'fast'}: set it`,
        ),
  ];
}

export async function checkSignIn(session: Session, { settings }: SyncedFolder): Promise<Finding> {
  const { workspace } = settings;
  await session.send({ method: 'GET', path: `/api/v1/workspaces/${workspace}` });
  return ok('sign-in', `the account has the workspace ${workspace}`);
}

/** Opens the vault with the stored key, or with VAULT_PASSWORD. */
export async function checkVault(context: Context, session: Session, folder: SyncedFolder): Promise<Finding> {
  const { workspace, hasSlots } = folder.settings;
  const kept = await folder.masterKey();
  if (kept) {
    await deriveVaultKeys(kept);
    await Vault.withMasterKey(session, workspace, kept);
    return ok('vault', 'the key that is kept opens it');
  }
  const password = context.env['VAULT_PASSWORD'];
  if (password === undefined) return ok('vault', 'its password is asked for each time: not tried');
  await Vault.unlock(session, workspace, { password }, { hasSlots });
  return ok('vault', 'the password opens it');
}
