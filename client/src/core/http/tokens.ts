import type { Http } from './http.js';
import type { HttpRequest } from './request.js';

/** A token, as it was given. */
export interface Token {
  readonly token: string;
}

/** Where the token of a request comes from. */
export interface TokenProvider {
  current(): Promise<Token>;
  /** Another one, after this one was refused. @returns undefined when there is no other */
  renewed(refused: Token): Promise<Token | undefined>;
}

/**
 * Returns what can be sent in a header. The error of the platform for anything else would repeat the token.
 * @throws TypeError
 */
export function checkToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new TypeError('the token has characters that no token has: copy it again');
}

/** A personal access token: there is no other. */
export const fixedToken = (token: string): TokenProvider => ({
  current: () => Promise.resolve({ token }),
  renewed: () => Promise.resolve(undefined),
});

interface Fetched extends Token {
  /** By the clock of this device. */
  readonly staleAt: number;
}

/** Renewed this much before its end. */
const MARGIN_MS = 60_000;

/** Tokens that are fetched when they are needed. Many requests wait for one renewal. */
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
    // Not by their texts: two that are made within a second may be the same.
    const isHeld = (await held?.catch(() => undefined)) === refused;
    return isHeld ? this.after(held) : this.current();
  }

  /** Whoever finds it stale first renews it; the others wait for the same. */
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
      if (this.fetched === fetching) this.fetched = undefined; // a failure is not kept for later requests
    });
    return fetching;
  }
}

/** The lifetime that a JWT states, whatever the clock of this device shows; without end for any other token. */
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

/** Sends a request with a token; once more with another one if that is refused. */
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
