import { ValidateBy } from 'class-validator';

/** Replaces `URL.canParse`: after ten thousand calls, the one in Node.js 20 refuses every Latin-1 text beyond ASCII. */
export function readUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** The values that the driver accepts for each parameter. It ignores any other value, or fails only later. */
const VALUES: Readonly<Record<string, { readonly pattern: RegExp; readonly words: string }>> = {
  sslmode: oneOf('disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'),
  ssl: oneOf('true', '1', '0', 'no-verify'),
  sslnegotiation: oneOf('postgres', 'direct'),
  replication: oneOf('off'),
  port: { pattern: /^\d{1,5}$/, words: 'a port' },
  connect_timeout: { pattern: /^\d+$/, words: 'a whole number of seconds' },
  statement_timeout: milliseconds(),
  lock_timeout: milliseconds(),
  idle_in_transaction_session_timeout: milliseconds(),
  query_timeout: milliseconds(),
};

/** Checks that the driver can use the parameters of a `postgres://` URL. Values that only the server can check fail at start. */
export function DatabaseParameters(): PropertyDecorator {
  return ValidateBy({
    name: 'databaseParameters',
    validator: {
      validate: (url: string) => faultIn(url) === undefined,
      defaultMessage: (argument) => faultIn(String(argument?.value)) ?? '',
    },
  });
}

function faultIn(text: string): string | undefined {
  const url = readUrl(text) ?? readUrl(text.replace('@/', '@host/'));
  if (!url) return undefined; // another rule reports it
  const given = url.searchParams;
  for (const [name, { pattern, words }] of Object.entries(VALUES)) {
    if (!given.getAll(name).every((value) => pattern.test(value)))
      return `$property has a parameter ${name} that is not ${words}`;
  }
  const isVerified = given.get('sslmode') === 'verify-ca' && given.get('uselibpqcompat') === 'true';
  if (isVerified && !given.get('sslrootcert'))
    return '$property must have the parameter sslrootcert when it has sslmode=verify-ca';
  if (given.get('sslnegotiation') === 'direct' && given.get('sslmode') === 'disable')
    return '$property has sslnegotiation=direct, which needs TLS, together with sslmode=disable';
  return undefined;
}

function oneOf(...values: string[]): { pattern: RegExp; words: string } {
  const words = values.length === 1 ? String(values) : `one of ${values.join(', ')}`;
  return { pattern: new RegExp(`^(?:${values.join('|')})$`), words };
}

function milliseconds(): { pattern: RegExp; words: string } {
  return { pattern: /^\d{1,9}$/, words: 'a whole number of milliseconds' };
}

export interface S3Address {
  readonly bucket: string;
  /** Key prefix without leading or trailing slash; empty for the whole bucket. */
  readonly prefix: string;
}

const S3_ADDRESS =
  /^s3:\/\/(?<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(?<prefix>[\w.-]+(?:\/[\w.-]+)*))?\/?$/;

/** Whether a backup location refers to an S3 store instead of a directory. */
export const isInS3 = (place: string): boolean => /^s3:/i.test(place);

/** Parses `s3://bucket/prefix`. @returns undefined when it is malformed */
export function s3Address(place: string): S3Address | undefined {
  const { bucket, prefix = '' } = S3_ADDRESS.exec(place)?.groups ?? {};
  return bucket === undefined || /(?:^|\/)\.{1,2}(?:\/|$)/.test(prefix) ? undefined : { bucket, prefix };
}

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (smtps). */
  readonly isSecure: boolean;
  /** Whether mail requires an encrypted connection and a valid server certificate. */
  readonly needsTls: boolean;
  readonly isLoopback: boolean;
  readonly credentials: { readonly user: string; readonly pass: string } | undefined;
}

const PORTS = new Map([
  ['smtp:', 587],
  ['smtps:', 465],
]);
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/;

/**
 * Reads SMTP_URL. A server on this machine's loopback interface needs neither TLS nor a valid certificate, because only this
 * machine can listen there.
 * @returns undefined for anything else than smtp:// or smtps:// with a host
 */
export function smtpServerIn(text: string): SmtpServer | undefined {
  const url = readUrl(text);
  if (!url || /\s/.test(text) || !PORTS.has(url.protocol) || !url.hostname) return undefined;
  const { protocol, username, password, search, hash, pathname } = url;
  const isOff = search === '?tls=off' && protocol === 'smtp:';
  if ((search !== '' && !isOff) || hash !== '' || !['', '/'].includes(pathname)) return undefined;
  const [user, pass] = [decoded(username), decoded(password)];
  if (user === undefined || pass === undefined || (user === '') !== (pass === '')) return undefined;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isLoopback = LOOPBACK.test(host);
  return {
    host,
    port: Number(url.port) || (PORTS.get(protocol) ?? 0),
    isSecure: protocol === 'smtps:',
    needsTls: !isOff && !isLoopback,
    isLoopback,
    credentials: user === '' ? undefined : { user, pass },
  };
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

const MAIL_ADDRESS = "[A-Za-z0-9_'+.-]+@(?:[A-Za-z0-9-]+\\.)*[A-Za-z0-9-]+";
const SENDER = new RegExp(`^(?:[^<>@\\p{Cc}]*<(${MAIL_ADDRESS})>|(${MAIL_ADDRESS}))$`, 'u');

/** The address in a sender such as `Example Sync <sync@example.org>`, or undefined. */
export function addressIn(sender: string): string | undefined {
  const [, inBrackets, alone] = SENDER.exec(sender) ?? [];
  return inBrackets ?? alone;
}
