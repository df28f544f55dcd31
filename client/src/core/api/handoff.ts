import { sha256, toBase64url } from '../crypto/index.js';
import { Session, type SessionOptions } from './session.js';

/** Where the sign-in page of the service leads afterwards. */
export type HandoffTarget =
  /** A desktop app that has registered a scheme; the service's own by default. */
  | { readonly scheme?: string }
  /** A page of a web editor that is in the service's configuration. */
  | { readonly returnTo: string };

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const STATE_BYTES = 24;

/** One attempt to sign in on the page of the service, which asks for the second factor too. */
export class Handoff {
  private constructor(
    private readonly baseUrl: string,
    /** The page to open in the browser. */
    readonly url: string,
    /** The code to show: the page shows the same one, and the user compares both. */
    readonly code: string,
    private readonly state: string,
  ) {}

  static async begin(baseUrl: string, target: HandoffTarget = {}): Promise<Handoff> {
    const state = toBase64url(crypto.getRandomValues(new Uint8Array(STATE_BYTES)));
    const page = 'returnTo' in target ? 'web-handoff' : 'desktop-handoff';
    const query = new URLSearchParams({ client_state: state });
    if ('returnTo' in target) query.set('return_to', target.returnTo);
    else if (target.scheme !== undefined) query.set('scheme', target.scheme);
    const root = baseUrl.replace(/\/+$/, '');
    return new Handoff(root, `${root}/auth/${page}?${query.toString()}`, await handoffCode(state), state);
  }

  /**
   * Signs in with the address that the page finally leads to, whether the app was opened with it or the user pasted it.
   * @throws TypeError when it does not answer this attempt: it may belong to another user
   */
  async finish(callback: string, options?: SessionOptions): Promise<Session> {
    const query = new URL(callback.trim()).searchParams;
    const token = query.get('token');
    if (query.get('client_state') !== this.state || token === null)
      throw new TypeError('this link does not belong to this attempt to sign in: begin again');
    return Session.withOneTimeToken(this.baseUrl, token, options);
  }
}

/** The first 40 bits of the SHA-256 of the state, in Crockford's base32: `XXXX-XXXX`. */
export async function handoffCode(state: string): Promise<string> {
  const hash = await sha256(new TextEncoder().encode(state));
  const bits = hash.subarray(0, 5).reduce((all, byte) => (all << 8n) | BigInt(byte), 0n);
  const digits = Array.from({ length: 8 }, (_, at) =>
    ALPHABET.charAt(Number((bits >> BigInt(35 - 5 * at)) & 31n)),
  );
  return `${digits.slice(0, 4).join('')}-${digits.slice(4).join('')}`;
}
