import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Configuration } from './config/index.js';

/** What a newcomer needs, in a few lines. In production the log is for machines: one JSON line. */
export function announce(configuration: Configuration): void {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  const url = configuration.publicUrl;
  if (configuration.isProduction) {
    process.stdout.write(`${JSON.stringify({ level: 'info', message: 'listening', version, url })}\n`);
    return;
  }
  const database = configuration.databaseUrl ? 'PostgreSQL of DATABASE_URL' : 'embedded PostgreSQL';
  process.stdout.write(`
Cloud Sync Service ${version} on ${url}
  data        ${resolve(configuration.dataDir)} (${database}, blobs on disk)
  API         docs/api.md
  first user  npm run admin -- user create you@example.org
  try it      curl ${url}/health
  see it      npm run demo

`);
}
