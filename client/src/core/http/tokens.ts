import type { Http } from './http.js';
import type { HttpRequest } from './request.js';

/** A token. Compared by identity, not by its text. */
export interface Token {
  readonly token: string;
}

/** Supplies the tokens of requests. */
export interface TokenProvider {
  current(): Promise<Token>;
  /** Another token, after this one was refused. @returns undefined when there is none */
  renewed(refused: Token): Promise<Token | undefined>;
}

/**
 * Returns the token if it can be sent in a header. The platform's error for any other token would repeat the token.
 * @throws TypeError
 */
export function checkToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new TypeError('the token has characters that no token has: copy it again');
}

/** A personal access token, which cannot be renewed. */
export const fixedToken = (token: string): TokenProvider => ({
  current: () => Promise.resolve({ token }),
  renewed: () => Promise.resolve(undefined),
});

interface Fetched extends Token {
  /** By this device's clock. */
  readonly staleAt: number;
}

/** Renewed this long before it expires. */
const MARGIN_MS = 60_000;

/** Fetches tokens when they are needed. Concurrent requests share one renewal. */
export class RenewedToken implements TokenProvider {
  private fetched: Promise<Fetched> | undefined;

  constructor(
    private readonly fetchToken: () => Promise<string>,
    private readonly now: () => number = Date.now,
  ) {}

  async current(): Promise<Token> {
    const held = this.fetched;
    if (!held) return this.renew();
    const fetched = await held;
    return fetched.staleAt > this.now() ? fetched : this.after(held);
  }

  async renewed(refused: Token): Promise<Token> {
    const held = this.fetched;
    // Compared by identity: two tokens that are issued within a second may have the same text.
    const isHeld = (await held?.catch(() => undefined)) === refused;
    return isHeld ? this.after(held) : this.current();
  }

  /** The first caller that finds the token stale renews it; other callers wait for the same renewal. */
  private after(stale: Promise<Fetched> | undefined): Promise<Token> {
    return (this.fetched === stale ? undefined : this.fetched) ?? this.renew();
  }

  private renew(): Promise<Fetched> {
    const fetching = this.fetchToken().then((token) => ({
      token,
      staleAt: this.now() + lifetimeMs(token) - MARGIN_MS,
    }));
    this.fetched = fetching;
    fetching.catch(() => {
      if (this.fetched === fetching) this.fetched = undefined; // later requests try again
    });
    return fetching;
  }
}

/** The lifetime that a JWT states, independent of this device's clock; infinite for any other token. */
function lifetimeMs(token: string): number {
  try {
    const claims = token.split('.')[1] ?? '';
    const { exp, iat } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))) as {
      exp: unknown;
      iat: unknown;
    };
    if (typeof exp === 'number' && typeof iat === 'number') return (exp - iat) * 1_000;
  } catch {
    // not a JWT
  }
  return Infinity;
}

/** Sends a request with a token. Retries once with another token when the first is refused. */
export async function sendAuthorized(
  http: Http,
  tokens: TokenProvider,
  request: HttpRequest,
): Promise<Response> {
  const send = ({ token }: Token): Promise<Response> =>
    http.send({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } });
  const token = await tokens.current();
  const answer = await send(token);
  if (answer.status !== 401) return answer;
  const other = await tokens.renewed(token);
  return other === undefined ? answer : send(other);
}
