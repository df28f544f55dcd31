import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../free-port.js';
import { BARE_TABLES } from './bare-tables.js';
import { type Program, startProgram } from './program.js';
import type { Service } from './service.js';

export interface BareServer extends Program {
  readonly url: string;
}

/**
 * Starts the bare server on its own database in the service's PostgreSQL, so that both use the same server.
 * @param does where to store blobs, if at all, and whether to verify tokens
 */
export async function startBareServer(
  service: Service,
  name: string,
  does: { blobs?: string; checksTokens?: boolean } = {},
): Promise<BareServer> {
  const { blobs, checksTokens } = does;
  const url = new URL(service.databaseUrl);
  await run(url.href, `CREATE DATABASE ${name}`);
  url.pathname = `/${name}`;
  await run(url.href, BARE_TABLES);
  if (blobs !== undefined) await mkdir(blobs, { recursive: true });
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    DATABASE_URL: url.href,
    BLOBS: blobs,
    PORT: String(port),
    TOKENS_OF: checksTokens ? service.url : undefined,
  };
  const script = join(import.meta.dirname, 'bare-server.js');
  const program = await startProgram([process.execPath, script], { env }, /http:\/\/127/);
  return { ...program, url: `http://127.0.0.1:${port}` };
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
