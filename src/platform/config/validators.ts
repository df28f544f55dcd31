import { applyDecorators } from '@nestjs/common';
import { IsOptional, IsUrl, Matches, ValidateBy, type ValidationArguments } from 'class-validator';
import { CronTime } from 'cron';
import { addressIn, isInS3, readUrl, s3Address, smtpServerIn } from './database-parameters.js';

/**
 * A validator of one property.
 * @param requirement continues the name of the variable; a function says which requirement the value does not meet
 */
const rule = (
  name: string,
  validate: (value: string, args?: ValidationArguments) => boolean,
  requirement: string | ((args: ValidationArguments) => string),
  each = false,
): PropertyDecorator => {
  const message = typeof requirement === 'string' ? `$property ${requirement}` : requirement;
  return ValidateBy({ name, validator: { validate } }, { message, each });
};

/** An address that receives one-time tokens. Place it above `@IsUrl`, which is then checked first. */
export const CallbackAddress = (): PropertyDecorator =>
  rule(
    'callbackAddress',
    (_, args) => faultOf(args) === undefined,
    (args) => `$property must be ${faultOf(args)}`,
  );

/** The requirement that the address does not meet. */
function faultOf(args?: ValidationArguments): string | undefined {
  const { value: address, object } = args as { value: string; object: { isProduction: boolean } };
  const url = readUrl(address);
  if (!url) return 'a URL'; // @IsUrl accepts 256.256.256.256
  const { protocol, hostname, username, password } = url;
  const isLocal = protocol === 'http:' && hostname === 'localhost' && !object.isProduction;
  if (protocol !== 'https:' && !isLocal)
    return 'an https URL (http://localhost is allowed in development only)';
  if (username || password || address.includes('#')) return 'a URL without user, password or fragment';
  return undefined;
}

/** Addresses of this machine, which need no https. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Whether the service may send its secret to this address: the connection is encrypted, or stays on this machine. Required of
 * `OIDC_ISSUER` and of the addresses that the provider publishes.
 */
export function isSecureAddress(address: string): boolean {
  const url = readUrl(address);
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));
}

export const IssuerAddress = (): PropertyDecorator =>
  rule(
    'issuerAddress',
    (text) => isSecureAddress(text) && !/[?#]/.test(text),
    'must be an https address without user, password, query and fragment (http is allowed on this machine only)',
  );

export const HTTP_URL = { require_tld: false, require_protocol: true, protocols: ['http', 'https'] };

/** The origin of an S3 store, perhaps with a final slash. */
export const StoreAddress = (): PropertyDecorator =>
  applyDecorators(
    Matches(/^https?:\/\/[^/?#]+\/?$/, {
      message: '$property must be an origin such as https://s3.example.org, without a path',
    }),
    IsUrl(HTTP_URL),
  );

/** A directory or an S3 location. */
export const BackupPlace = (): PropertyDecorator =>
  rule(
    'backupPlace',
    (text) => !isInS3(text) || s3Address(text) !== undefined,
    'must be a directory or s3://bucket/prefix, with a prefix of letters, digits, dots, dashes, underscores and slashes',
  );

/** A cron expression for a time that exists: not the 31st of February. */
export const IsFutureCron = (): PropertyDecorator =>
  applyDecorators(
    Matches(/^\S+(?: \S+){4}$/, { message: '$property must be a cron expression of five fields' }),
    rule(
      'isFutureCron',
      hasNextRun,
      'never matches a time; set five fields (minute, hour, day, month, weekday) such as "0 3 * * *"',
    ),
  );

function hasNextRun(expression: string): boolean {
  try {
    new CronTime(expression, 'UTC', null).getNextDateFrom(new Date(0), 'UTC');
    return true;
  } catch {
    return false;
  }
}

/** A valid URL; the host may be omitted, as in postgres://user@/database?host=/socket. */
export const ServerUrl = (): PropertyDecorator =>
  rule(
    'serverUrl',
    (text) => {
      const url = readUrl(text) ?? readUrl(text.replace('@/', '@host/'));
      return url !== undefined && [url.username, url.password, url.host, url.pathname].every(isEncoded);
    },
    'cannot be parsed; percent-encode special characters in its user and password, and check its port',
  );

/** Whether the percent-encoding is valid UTF-8. */
function isEncoded(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

/** Schemes that are never the origin of a page: browsers send `null` for most of them. */
const NEVER_AN_ORIGIN = new Set([
  'about',
  'blob',
  'data',
  'file',
  'filesystem',
  'ftp',
  'javascript',
  'ws',
  'wss',
]);

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/([^/?#\\\s*@]+)\/?$/i;
const OPAQUE_HOST = /^[\x21-\x7e]+$/;

/**
 * Normalizes an origin to the form that browsers send: `HTTPS://Notes.Example.org:443/` becomes `https://notes.example.org`.
 * Origins with other schemes, such as `app://obsidian.md`, stay unchanged.
 * @returns undefined for an invalid origin
 */
export function originOf(text: string): string | undefined {
  const [, name = '', host = ''] = ORIGIN.exec(text) ?? [];
  const scheme = name.toLowerCase();
  if (scheme === 'http' || scheme === 'https') return readUrl(text)?.origin;
  if (!OPAQUE_HOST.test(host) || NEVER_AN_ORIGIN.has(scheme)) return undefined;
  return `${scheme}://${host}`;
}

export const TrustedOrigins = (): PropertyDecorator =>
  rule(
    'trustedOrigins',
    (text) => originOf(text) !== undefined,
    'must be a comma-separated list of origins such as https://notes.example.org or app://obsidian.md, without paths or wildcards',
    true,
  );

/** Reports the whole requirement in one message; `@IsInt`, `@Min` and `@Max` would report an unhelpful one for a word. */
export const WholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER): PropertyDecorator =>
  rule(
    'wholeNumber',
    (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
    `must be a whole number from ${min} to ${max}`,
  );

/** The URL of a mail server that `smtpServerIn` can parse. */
export const SmtpUrl = (): PropertyDecorator =>
  rule(
    'smtpUrl',
    (text) => smtpServerIn(text) !== undefined,
    'must be smtp://user:password@host:port or smtps://…, without a path; encode what is special in user and password; the only option is ?tls=off, with smtp://',
  );

/** The sender of mail: an address with or without a name. */
export const MailSender = (): PropertyDecorator =>
  rule(
    'mailSender',
    (text) => addressIn(text) !== undefined,
    'must be an address such as sync@example.org, or Example Sync <sync@example.org>',
  );

export type Environment = Record<string, string | undefined>;

/** One variable, as described in `.env.example` and error messages. */
export interface EnvVariable {
  property: string;
  name: string;
  meaning: string;
  default: string | undefined;
  secret: boolean;
  each: ((part: string) => string) | undefined;
  /** Constructor of the property's type: String, Number, Boolean or Array (comma-separated). */
  type: unknown;
}

const variables = new Map<object, EnvVariable[]>();

interface EnvOptions {
  readonly secret?: boolean;
  readonly each?: (part: string) => string;
}

/** Binds a property of the configuration class to an environment variable; without a default value, the property is optional. */
export const Env =
  (
    name: string,
    meaning: string,
    defaultValue?: string,
    { secret = false, each }: EnvOptions = {},
  ): PropertyDecorator =>
  (target, property) => {
    const known = variables.get(target) ?? [];
    variables.set(target, known);
    const type: unknown = Reflect.getMetadata('design:type', target, property);
    known.push({ property: String(property), name, meaning, default: defaultValue, secret, each, type });
    if (defaultValue === undefined) IsOptional()(target, property);
  };

/** A variable whose value is never printed, and which can also be read from a file (`NAME_FILE`). */
export const Secret = (name: string, meaning: string): PropertyDecorator =>
  Env(name, meaning, undefined, { secret: true });

/** The variables of a configuration class, in declaration order. */
export function envVariables(configuration: abstract new () => object): readonly EnvVariable[] {
  return variables.get(configuration.prototype as object) ?? [];
}
