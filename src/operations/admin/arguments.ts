import { Argument, InvalidArgumentError, Option } from 'commander';
import { EMAIL_RULE, isEmailAddress } from '../../domain/auth/index.js';
import { isInstant, parseInstant } from '../../platform/clock/index.js';
import { asName, NAME_RULE } from '../../platform/http/index.js';

/** Every command that changes the service's data has this option: only report what would change. */
export interface DryRun {
  readonly dryRun?: true;
}

/** Creates a new Option for each command: commander stores the given value in the Option. */
export const dryRunOption = (): Option =>
  new Option('--dry-run', 'show what would change, without changing it');

export const nowOption = (): Option =>
  new Option('--now <time>', 'run as of this time, ISO 8601, UTC if it has no zone').argParser(time);

export const emailArgument = (): Argument =>
  new Argument('<email>', 'address of the account').argParser(knownEmail);

/** Parses the address of a new account. */
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

/** The contact for push services. */
export function contact(text: string): string {
  if (/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a mailto: or https: address.');
}
