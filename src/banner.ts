import { resolve } from 'node:path';
import { type Configuration, VERSION as version } from './platform/config/index.js';

/** Prints the few lines that a new user needs. In production, the log is read by machines: one JSON line. */
export function announce(configuration: Configuration): void {
  const { publicUrl: url, host, port } = configuration;
  if (configuration.isProduction) {
    const time = new Date().toISOString();
    const line = { level: 'info', time, message: 'listening', version, url, host, port };
    process.stdout.write(`${JSON.stringify(line)}\n`);
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

/** An address that this machine can reach: a service that listens on every interface is reached as localhost. */
function reachable(host: string): string {
  if (LOOPBACK_OR_ALL.has(host)) return 'localhost';
  return host.includes(':') ? `[${host.replace('%', '%25')}]` : host; // escapes the zone of a link-local address
}
