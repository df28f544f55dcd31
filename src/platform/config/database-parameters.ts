import { ValidateBy } from 'class-validator';
import { readUrl } from './read-url.js';

/** The values that the driver accepts for each parameter. It ignores any other value, or fails late. */
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

/** Checks that the driver can use the parameters of a `postgres://` URL. Values that only the server can judge fail at start. */
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
