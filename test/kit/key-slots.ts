import { randomUUID } from 'node:crypto';
import type { TestDatabase } from './database.js';

const SALT = 'ef'.repeat(32);

/** Parameters that readers accept, by kind of slot. */
export const KDFS = {
  password: { name: 'pbkdf2-sha256', salt: SALT, iterations: 600_000 },
  recovery: { name: 'hkdf-sha256' },
  passkey: { name: 'hkdf-sha256', credentialId: 'Y3JlZGVudGlhbA', prfSalt: SALT },
} as const;

/** For an unknown kind, those of a password. */
export const kdfOf = (kind: unknown): object => KDFS[kind as keyof typeof KDFS] ?? KDFS.password;

/** Base64 of the 93 bytes of a wrapped key, beginning with this text. */
export const wrappedKeyOf = (text: string): string =>
  Buffer.concat([Buffer.from(text), Buffer.alloc(93)])
    .subarray(0, 93)
    .toString('base64');

export const RECOVERY_SLOT = { kind: 'recovery', kdf: KDFS.recovery, wrappedKey: wrappedKeyOf('') } as const;

/** Stores a slot like earlier versions of the service, which did not validate it. Returns its id. */
export async function storeUncheckedSlot(
  database: Pick<TestDatabase, 'query'>,
  workspaceId: string,
  {
    kind = 'password',
    kdf,
    wrappedKey = wrappedKeyOf(''),
  }: { kind?: string; kdf: object; wrappedKey?: string },
): Promise<string> {
  const id = randomUUID();
  const values = [workspaceId, id, kind, JSON.stringify(kdf), Buffer.from(wrappedKey, 'base64')];
  await database.query(
    `INSERT INTO key_slots (workspace_id, id, kind, kdf, wrapped_key, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, now(), now())`,
    values,
  );
  return id;
}
