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
  const here = `http://${reachable(host)}:${port}`;
  const elsewhere = configuration.baseUrl && configuration.baseUrl !== here ? `, for others ${url}` : '';
  process.stdout.write(`
Cloud Sync Service ${version} on ${here}${elsewhere}
  account     ${here}/account
  API         ${here}/docs
  data        ${resolve(configuration.dataDir)} (${database}, blobs ${configuration.hasS3 ? 'in S3' : 'on disk'})
  first user  npm run admin -- user create you@example.org
  try it      curl ${here}/health
  see it      npm run demo

`);
}

const LOOPBACK_OR_ALL = new Set(['127.0.0.1', '0.0.0.0', '::', '0:0:0:0:0:0:0:0', '0']);

/** An address that answers on this machine: one that listens on every interface is reached by the machine's own name. */
function reachable(host: string): string {
  if (LOOPBACK_OR_ALL.has(host)) return 'localhost';
  return host.includes(':') ? `[${host.replace('%', '%25')}]` : host; // the zone of a link-local address
}
