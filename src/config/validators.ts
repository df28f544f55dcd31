import { ValidateBy, type ValidationArguments } from 'class-validator';
import { CronTime } from 'cron';

/** Not `URL.canParse`: in Node.js 20 it refuses every text of Latin-1 beyond ASCII once it has been called ten thousand times. */
export function readUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** An address that one-time tokens are sent to; to stand above `@IsUrl`, which is checked before it. */
export function CallbackAddress(): PropertyDecorator {
  return ValidateBy({
    name: 'callbackAddress',
    validator: {
      validate: (_, args) => faultOf(args) === undefined,
      defaultMessage: (args) => `$property must be ${faultOf(args)}`,
    },
  });
}

/** What it must be and is not. */
function faultOf(args?: ValidationArguments): string | undefined {
  const { value: address, object } = args as { value: string; object: { isProduction: boolean } };
  const url = readUrl(address);
  if (!url) return 'a URL address'; // @IsUrl lets 256.256.256.256 pass
  const { protocol, hostname, username, password } = url;
  const isLocal = protocol === 'http:' && hostname === 'localhost' && !object.isProduction;
  if (protocol !== 'https:' && !isLocal)
    return 'an https address (http://localhost is allowed in development only)';
  if (username || password || address.includes('#')) return 'an address without user, password and fragment';
  return undefined;
}

/** A cron expression that names a time there is: not the 31st of February. */
export function ComingTime(): PropertyDecorator {
  return ValidateBy({
    name: 'comingTime',
    validator: {
      validate: everComes,
      defaultMessage: () =>
        '$property is no time that ever comes; set five fields (minute, hour, day, month, weekday) such as "0 3 * * *"',
    },
  });
}

function everComes(expression: string): boolean {
  try {
    new CronTime(expression, 'UTC', null).getNextDateFrom(new Date(0), 'UTC');
    return true;
  } catch {
    return false;
  }
}

/** A URL that can be read; the host may be left out, as in postgres://user@/database?host=/socket. */
export function ServerUrl(): PropertyDecorator {
  return ValidateBy({
    name: 'serverUrl',
    validator: {
      validate: (text: string) => {
        const url = readUrl(text) ?? readUrl(text.replace('@/', '@host/'));
        return url !== undefined && [url.username, url.password, url.host, url.pathname].every(isEncoded);
      },
      defaultMessage: () =>
        '$property cannot be read; encode what is special in its user or password, and check its port',
    },
  });
}

/** Whether every `%` in it stands for a character of UTF-8. */
function isEncoded(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

/** Addresses that no page comes from under this name: browsers send `null` for most of them. */
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

/** Without path, user, wildcard and query. */
const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/([^/?#\\\s*@]+)\/?$/i;
const OPAQUE_HOST = /^[\x21-\x7e]+$/;

/**
 * An origin as browsers send it, for one as people write it: `HTTPS://Notes.Example.org:443/` is
 * `https://notes.example.org`. Those of other schemes, such as `app://obsidian.md`, are taken as they are written.
 * @returns undefined for what is none
 */
export function originOf(text: string): string | undefined {
  const [, name = '', host = ''] = ORIGIN.exec(text) ?? [];
  const scheme = name.toLowerCase();
  if (scheme === 'http' || scheme === 'https') return readUrl(text)?.origin;
  if (!OPAQUE_HOST.test(host) || NEVER_AN_ORIGIN.has(scheme)) return undefined;
  return `${scheme}://${host}`;
}

/** For a list of origins. */
export function TrustedOrigins(): PropertyDecorator {
  return ValidateBy(
    {
      name: 'trustedOrigins',
      validator: {
        validate: (text: string) => originOf(text) !== undefined,
        defaultMessage: () =>
          '$property must be origins such as https://notes.example.org or app://obsidian.md, comma-separated, without paths and wildcards',
      },
    },
    { each: true },
  );
}

/** One sentence says all that is expected; `@IsInt`, `@Min` and `@Max` would say what a word has least to do with. */
export function WholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): PropertyDecorator {
  return ValidateBy({
    name: 'wholeNumber',
    validator: {
      validate: (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
      defaultMessage: () => `$property must be a whole number from ${min} to ${max}`,
    },
  });
}
