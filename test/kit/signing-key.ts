import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestDatabase } from './database.js';

/** Created by global-setup. */
interface SigningKey {
  readonly secret: string;
  readonly row: object;
}

/** Prepares database and data directory as an earlier run of a service would, with the key that all tests share. */
export async function placeSigningKey({ query }: TestDatabase, dataDir: string): Promise<void> {
  const { secret, row } = JSON.parse(process.env.TEST_SIGNING_KEY ?? '{}') as SigningKey;
  const secrets = join(dataDir, 'secrets');
  await mkdir(secrets, { mode: 0o700 });
  await writeFile(join(secrets, 'auth-secret'), secret, { mode: 0o600 });
  await query('INSERT INTO auth_jwks SELECT * FROM json_populate_record(NULL::auth_jwks, $1)', [row]);
}
