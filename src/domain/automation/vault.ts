import { Unauthorized } from '../../platform/http/index.js';
import type { VaultKeys } from './vault-crypto.js';

/** A workspace opened for one request; its keys are wiped when the request has finished. */
export interface Vault {
  readonly sessionId: string;
  /** The personal access token that opened the session; null for a JWT. */
  readonly accessTokenId: string | null;
  readonly userId: string;
  readonly workspaceId: string;
  readonly keys: VaultKeys;
}

/** There is no vault for this request: the key session is missing or has ended. */
export class KeySessionRequired extends Unauthorized {
  constructor() {
    super('key session required');
  }
}

/** For work that may outlast the request; the copy must be wiped when the work ends. */
export function copyOf(vault: Vault): Vault {
  const keys = Object.entries(vault.keys).map(([name, key]: [string, Buffer]) => [name, Buffer.from(key)]);
  return { ...vault, keys: Object.fromEntries(keys) as VaultKeys };
}

export function wipe({ keys }: Vault): void {
  for (const key of Object.values(keys) as Buffer[]) key.fill(0);
}
