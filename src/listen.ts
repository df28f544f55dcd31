import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { resolve } from 'node:path';
import { type Configuration, OperatorError, VERSION as version } from './platform/config/index.js';
import { Shutdown } from './platform/http/index.js';
import { Log } from './platform/log.js';

const ANSWER_WITHIN_MS = 1_000;

/**
 * Starts the service on its address. The address is tested before anything else starts, so a port that is in use costs
 * nothing. PORT=0 is replaced by the port found, because tokens carry the public address. That port stays bound while the
 * service starts; otherwise another process could get it.
 * @throws OperatorError when the address cannot be used
 */
export async function listen(
  configuration: Configuration,
  create: (configuration: Configuration) => Promise<NestFastifyApplication>,
): Promise<NestFastifyApplication> {
  const { host, port } = configuration;
  const holder = await probeAddress(port, host);
  let app: NestFastifyApplication;
  if (port === 0) {
    configuration.port = (holder.address() as AddressInfo).port;
    try {
      app = await create(configuration);
    } finally {
      await closed(holder);
    }
  } else {
    await closed(holder); // it may occupy the requested port
    if (await isAnswered(port, host)) throw asOperatorError({ code: 'EADDRINUSE' }, port, host);
    app = await create(configuration);
  }
  try {
    await app.listen({ port: configuration.port, host });
    return app;
  } catch (error) {
    await app.close();
    throw asOperatorError(error, configuration.port, host);
  }
}

/** Listens on a free port of the host to verify that the address belongs to this machine. `port` is only for the message. */
function probeAddress(port: number, host: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const holder = createServer((socket) => socket.destroy());
    holder.once('error', (error) => reject(asOperatorError(error, port, host)));
    holder.listen({ port: 0, host }, () => resolve(holder));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Connects instead of briefly listening on the port: listening would cut off clients that wait for this service to start. */
function isAnswered(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const answer = (isTaken: boolean) => () => {
      socket.destroy();
      resolve(isTaken);
    };
    socket.setTimeout(ANSWER_WITHIN_MS, answer(false));
    // A connection whose local port equals the target port may have connected to itself.
    socket.once('connect', () => answer(socket.localPort !== port)());
    socket.once('error', answer(false));
  });
}

function asOperatorError(error: unknown, port: number, host: string): Error {
  const sentences: Record<string, string> = {
    EADDRINUSE: `Port ${port} is in use; stop the process that listens there, or set PORT to another one (0 finds a free one).`,
    EACCES: `Port ${port} needs privileges that this user does not have; set PORT to 1024 or above.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; set HOST to 127.0.0.1 or 0.0.0.0.`,
    ENOTFOUND: `${host} is not an address of this machine; set HOST to 127.0.0.1 or 0.0.0.0.`,
  };
  const sentence = sentences[(error as NodeJS.ErrnoException).code ?? ''];
  if (sentence === undefined) return error instanceof Error ? error : new Error(String(error));
  return new OperatorError(sentence, { cause: error });
}

/** Prints the lines that a new user needs; in production, a single JSON line for log collectors. */
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

/** Time until a forced exit, of which in-flight requests get 25 s: nothing may keep a stopping process alive. */
const GIVE_UP_MS = 45_000;

/**
 * On a signal: becomes not ready, stops accepting connections, lets in-flight requests finish (25 s at most), then closes pool
 * and database; exit code 0. Ignores further signals: Ctrl-C in a terminal arrives twice, directly and through npm.
 */
export function drainOn(signals: NodeJS.Signals[], app: NestFastifyApplication): void {
  let isDraining = false;
  for (const signal of signals) {
    process.on(signal, () => {
      if (isDraining) return;
      isDraining = true;
      app.get(Log).info({ signal }, 'the service is shutting down');
      setTimeout(
        () => exitBecause(`the service did not stop within ${GIVE_UP_MS / 1_000} s`),
        GIVE_UP_MS,
      ).unref();
      void drain(app).then(() => process.exit(0), exitBecause);
    });
  }
}

async function drain(app: NestFastifyApplication): Promise<void> {
  await app.get(Shutdown).begin();
  await app.close();
}

/** Prints one sentence for a fault with a known fix, and a stack trace for any other error. Exit code 1. */
export function exitBecause(error: unknown): never {
  const text =
    error instanceof OperatorError
      ? error.message
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
