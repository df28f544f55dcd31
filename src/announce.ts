import { resolve } from 'node:path';
import { type Configuration, VERSION as version } from './config/index.js';

/** What a newcomer needs, in a few lines. In production the log is for machines: one JSON line. */
export function announce(configuration: Configuration): void {
  const { publicUrl: url, host, port } = configuration;
  if (configuration.isProduction) {
    process.stdout.write(
      `${JSON.stringify({ level: 'info', message: 'listening', version, url, host, port })}\n`,
    );
    return;
  }
  const database = configuration.databaseUrl ? 'PostgreSQL of DATABASE_URL' : 'embedded PostgreSQL';
  process.stdout.write(`
Cloud Sync Service ${version} on ${url}
  data        ${resolve(configuration.dataDir)} (${database}, blobs ${configuration.hasS3 ? 'in S3' : 'on disk'})
  API         docs/api.md
  first user  npm run admin -- user create you@example.org
  try it      curl http://${reachable(host)}:${port}/health
  see it      npm run demo

`);
}

/** Listening on every interface, the service is reached by this machine's own name. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::' || host === '127.0.0.1') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
