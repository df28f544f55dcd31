import { ValidateBy } from 'class-validator';
import { readUrl } from './read-url.js';

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
