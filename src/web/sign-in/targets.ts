import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Configuration } from '../../platform/config/index.js';
import { BadRequest } from '../../platform/http/index.js';
import type { Form } from '../layout/index.js';

export type Kind = 'desktop' | 'web';

/** The paths of the handoff pages. */
export const PATHS: Readonly<Record<Kind, string>> = {
  desktop: '/auth/desktop-handoff',
  web: '/auth/web-handoff',
};

/** The verified recipient of a one-time token. */
export interface Target {
  readonly kind: Kind;
  /** The name that the page shows: the app's scheme, or the website's host. */
  readonly name: string;
  /** The address that receives the token; the token and `client_state` are added to the query. */
  readonly address: string;
  readonly clientState: string;
  /** Hidden fields of the page's forms, checked again when a form is posted. */
  readonly fields: Readonly<Record<string, string>>;
}

const CLIENT_STATE = /^[A-Za-z0-9_-]{16,512}$/;

/**
 * The only addresses to which a token is ever sent. The requested address is compared with them as text, character by character:
 * two spellings that one parser considers the same address are two addresses to another.
 */
@Injectable()
export class Targets {
  private readonly schemes: readonly string[];
  private readonly callbacks: readonly string[];

  constructor(configuration: Configuration) {
    const { appScheme, appName, editorCallbackUrl, altCallbackUrl } = configuration;
    this.schemes = [appScheme, `${appScheme}-${appName}`];
    this.callbacks = [editorCallbackUrl, altCallbackUrl].filter((address) => address !== undefined);
  }

  /** @throws BadRequest for an invalid client_state or scheme */
  desktop(asked: Form): Target {
    const clientState = clientStateOf(asked);
    const scheme = asked.get('scheme') ?? this.schemes[0];
    if (scheme === undefined || !this.schemes.includes(scheme))
      throw new BadRequest('scheme is not an allowed app scheme');
    const address = `${scheme}://auth/callback`;
    const fields = { client_state: clientState, scheme };
    return { kind: 'desktop', name: scheme, address, clientState, fields };
  }

  /** @throws BadRequest for an invalid client_state or return_to */
  web(asked: Form): Target {
    const clientState = clientStateOf(asked);
    const address = asked.get('return_to');
    if (address === undefined || !this.callbacks.includes(address))
      throw new BadRequest('return_to is not an allowed return address');
    const fields = { client_state: clientState, return_to: address };
    return { kind: 'web', name: new URL(address).host, address, clientState, fields };
  }

  /** The path of the page whose form was posted, with its query. @throws BadRequest for an unknown page, and as above */
  pageOf(form: Form): string {
    const page = form.get('page');
    if (page === 'account') return '/account';
    if (page === 'desktop') return addressOf(this.desktop(form));
    if (page === 'web') return addressOf(this.web(form));
    throw new BadRequest('page is not a page on which a sign-in begins');
  }
}

/** The path of the handoff page with the query that shows it again. */
export const addressOf = ({ kind, fields }: Target): string =>
  `${PATHS[kind]}?${new URLSearchParams(fields).toString()}`;

function clientStateOf(asked: Form): string {
  const clientState = asked.get('client_state');
  if (clientState === undefined || !CLIENT_STATE.test(clientState))
    throw new BadRequest('client_state must be 16 to 512 characters of A-Z, a-z, 0-9, _ and -');
  return clientState;
}

/** The target's address with the token. The address may already have a query. */
export function withToken({ address, clientState }: Target, token: string): string {
  const query = new URLSearchParams({ token, client_state: clientState });
  return `${address}${address.includes('?') ? '&' : '?'}${query.toString()}`;
}

/** Crockford's alphabet: without I, L, O and U, which are easily misread. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 8;

/**
 * The code that the app and the page both show, so that a person can see that they belong together: the first 40 bits of the
 * SHA-256 of `client_state` in Crockford's base 32, as `XXXX-XXXX`.
 */
export function comparisonCode(clientState: string): string {
  const bits = createHash('sha256').update(clientState).digest().readUIntBE(0, 5);
  const digits = Array.from({ length: LENGTH }, (_, at) => {
    return DIGITS[Math.floor(bits / 32 ** (LENGTH - 1 - at)) % 32] ?? '';
  }).join('');
  return `${digits.slice(0, 4)}-${digits.slice(4)}`;
}
