import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Argument, InvalidArgumentError, Option } from 'commander';
import 'reflect-metadata';
import { AppModule } from '../../app.module.js';
import { EMAIL_RULE, isEmailAddress, type UserEntity, Users } from '../../domain/auth/index.js';
import { Clock, isInstant, parseInstant } from '../../platform/clock.js';
import { type Configuration, configurationOfProcess, OperatorError } from '../../platform/config/index.js';
import { runningServerUrl } from '../../platform/database/index.js';
import { asName, InFlightRequests, NAME_RULE, NotFound } from '../../platform/http/index.js';
import { Background } from '../../platform/jobs/index.js';
import { createLogger, Log, NestLog } from '../../platform/log.js';
import { StoreUnavailable } from '../../platform/storage/index.js';

/** Every command that changes the service's data has this option: only report what would change. */
export interface DryRun {
  readonly dryRun?: true;
}

/** Creates a new Option for each command: commander stores the given value in the Option. */
export const dryRunOption = (): Option =>
  new Option('--dry-run', 'show what would change, without changing it');

/** The option of a command that usually runs as of the trusted time. */
export interface AsOf extends DryRun {
  readonly now?: Date;
}

export const nowOption = (): Option =>
  new Option('--now <time>', 'run as of this time, ISO 8601, UTC if it has no zone').argParser(time);

export const emailArgument = (): Argument =>
  new Argument('<email>', 'address of the account').argParser(knownEmail);

export function newEmail(text: string): string {
  if (isEmailAddress(text)) return text;
  throw new InvalidArgumentError(`It ${EMAIL_RULE}.`);
}

/** Parses the address of an existing account, which may predate the rule for new ones. */
export function knownEmail(text: string): string {
  if (/.@./.test(text)) return text;
  throw new InvalidArgumentError('It must be an email address.');
}

export function personName(text: string): string {
  const name = asName(text);
  if (name !== undefined) return name;
  throw new InvalidArgumentError(`It ${NAME_RULE}.`);
}

export function time(text: string): Date {
  if (isInstant(text)) return parseInstant(text);
  throw new InvalidArgumentError('It must be an ISO 8601 time.');
}

/** @returns a parser for a whole number of bytes up to `most` */
export const bytesUpTo =
  (most: number) =>
  (text: string): number => {
    const bytes = Number(text);
    if (/^\d{1,16}$/.test(text) && bytes <= most) return bytes;
    throw new InvalidArgumentError(`It must be a whole number of bytes, ${most} at most.`);
  };

export function rowCount(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 1 to 9999.');
}

export function contact(text: string): string {
  if (/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a mailto: or https: address.');
}

/** The result of a command: a text for people, and all other fields for `--json`. */
export interface Report {
  readonly text: string;
  /** Set if the command has done its work but found a problem; defaults to 0. */
  readonly exitCode?: number;
  readonly [field: string]: unknown;
}

/** Does a command's work and prints its report. */
export type Run = (work: () => Promise<Report>) => Promise<void>;

/**
 * Runs `work` with the service's own modules, without listening and without background work. When a service runs on the same
 * DATA_DIR, uses its embedded database; otherwise starts the database, and stops it afterwards. Danger: a failed start leaves
 * open whatever it has opened; the caller must end the process. A store is opened when `work` uses it.
 * @throws OperatorError when a store that it uses fails
 */
export async function withService<T>(
  work: (service: INestApplicationContext) => Promise<T>,
  configuration: Configuration = configurationOfProcess(),
): Promise<T> {
  configuration.databaseUrl ??= await runningServerUrl(configuration.dataDir);
  const log = new Log(createLogger('error', process.stderr));
  const service = await NestFactory.createApplicationContext(
    AppModule.with({
      configuration,
      log,
      clock: new Clock(),
      inFlight: new InFlightRequests(),
      background: new Background(false),
    }),
    { logger: new NestLog(log.pino), abortOnError: false },
  );
  try {
    return await withStores(() => work(service));
  } finally {
    await service.close();
  }
}

/** The account that a command acts on. @throws NotFound */
export async function accountOf(service: INestApplicationContext, email: string): Promise<UserEntity> {
  const user = await service.get(Users).findByEmail(email);
  if (!user) throw new NotFound(`there is no account for ${email}`);
  return user;
}

/** `withService`, with the account of an address. @throws NotFound */
export function onAccount<T>(
  address: string,
  work: (service: INestApplicationContext, user: UserEntity) => Promise<T>,
): Promise<T> {
  return withService(async (service) => work(service, await accountOf(service, address)));
}

/** Fields as text, one in each line. */
export const linesOf = (fields: Readonly<Record<string, string | number | boolean | Date | null>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}: ${value instanceof Date ? value.toISOString() : String(value ?? '–')}`)
    .join('\n');

/** Reports a store failure as a message without a stack trace. @throws OperatorError */
async function withStores<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    if (error.cause instanceof OperatorError) throw error.cause;
    throw new OperatorError(`A blob store failed: ${error.message}.`, { cause: error });
  }
}
