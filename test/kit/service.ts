import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SchedulerRegistry } from '@nestjs/schedule';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { freePort } from '../../bench/free-port.js';
import { createApp } from '../../src/app.js';
import { PasswordCost } from '../../src/domain/auth/index.js';
import { loadConfiguration } from '../../src/platform/config/index.js';
import { InFlightRequests, Overload } from '../../src/platform/http/index.js';
import { createLogger, Log } from '../../src/platform/log.js';
import type { Outbound } from '../../src/platform/outbound.js';
import { createDatabase, type TestDatabase } from './database.js';
import { watchingAnswers } from './documented-answers.js';
import { MovableClock } from './movable-clock.js';
import { placeSigningKey } from './signing-key.js';
import { TestUser } from './user.js';

export const DEV_LOGIN_KEY = 'the-dev-login-key-of-tests-0123456789';
export const BASE_URL = 'http://localhost:8787';

/** The real service in this process: real PostgreSQL, real files, real HTTP on a free port. */
export interface TestService {
  readonly url: string;
  readonly app: NestFastifyApplication;
  readonly database: TestDatabase;
  readonly dataDir: string;
  readonly clock: MovableClock;
  /** Everything that was logged, at all levels. */
  readonly logged: () => string;
  /** A user with an active trial; the same name returns the same user. */
  user(name: string): Promise<TestUser>;
  /** A user right after sign-up, on the free plan. */
  newcomer(name: string): Promise<TestUser>;
  close(): Promise<void>;
}

export interface ServiceOptions {
  readonly env?: Record<string, string>;
  /** Sets BASE_URL to the actual address, for clients that send it as their Origin. */
  readonly isAtBaseUrl?: boolean;
  /** The host name in that BASE_URL; by default, the address. */
  readonly hostname?: string;
  /** The port, with `isAtBaseUrl`, if it must be known before the start. */
  readonly port?: number;
  /** Another instance to share database, blobs and clock with. */
  readonly beside?: TestService;
  /** Cost of a password hash; minimal by default, because hundreds of tests sign up. */
  readonly passwordCost?: PasswordCost;
  /** The outbound network; by default, the machine's own. */
  readonly outbound?: Outbound;
}

const LEAST = { ln: 4, r: 1, p: 1 };
const CHEAP = new PasswordCost(LEAST, LEAST);

export async function startService({
  env = {},
  port: chosenPort,
  isAtBaseUrl = chosenPort !== undefined,
  hostname = '127.0.0.1',
  beside,
  outbound,
  passwordCost = CHEAP,
}: ServiceOptions = {}): Promise<TestService> {
  const port = chosenPort ?? (isAtBaseUrl ? await freePort() : 0);
  const database = beside?.database ?? (await createDatabase());
  const dataDir = beside?.dataDir ?? (await mkdtemp(join(tmpdir(), 'sync-data-')));
  if (!beside && env.AUTH_SECRET === undefined) await placeSigningKey(database, dataDir);
  const clock = beside?.clock ?? new MovableClock();
  const lines: string[] = [];
  const sink = new Writable({ write: (chunk, _, done) => done(void lines.push(String(chunk))) });

  const configuration = loadConfiguration({
    NODE_ENV: 'test',
    BASE_URL: isAtBaseUrl ? `http://${hostname}:${port}` : BASE_URL,
    DATABASE_URL: database.url,
    DATABASE_POOL_SIZE: '8',
    DATA_DIR: dataDir,
    DEV_LOGIN_KEY,
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'trace',
    ...env,
  });
  const log = new Log(createLogger(configuration.logLevel, sink as unknown as NodeJS.WriteStream));
  const removeAll = async (): Promise<void> => {
    if (beside) return;
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  const app = await watchingAnswers(() =>
    createApp(configuration, { clock, log, outbound, passwordCost }),
  ).catch(async (error: unknown) => {
    await removeAll();
    throw error;
  });
  app.get(InFlightRequests).waiting.stopLooking(); // a slow test must not count as a slow client
  app.get(Overload).stopLooking(); // the test's own work in this process must not count as overload
  await app.listen({ port, host: '127.0.0.1' });
  const scheduler = app.get(SchedulerRegistry, { strict: false });
  for (const name of scheduler.getTimeouts()) scheduler.deleteTimeout(name); // a slow test must not run into catch-up jobs

  const url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
  const close = async (): Promise<void> => {
    await app.close();
    await removeAll();
  };
  const newcomer = (name: string): Promise<TestUser> => TestUser.logIn(url, name);
  const user = async (name: string): Promise<TestUser> => {
    const found = await newcomer(name);
    await found.post('/api/v1/subscription/trial');
    return found;
  };
  return { url, app, database, dataDir, clock, logged: () => lines.join(''), user, newcomer, close };
}
