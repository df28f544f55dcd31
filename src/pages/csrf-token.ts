import { createHmac, randomBytes } from 'node:crypto';
import { equalSecrets } from '../auth/index.js';

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/**
 * Proves that a form was made for the browser that posts it, and for who is signed in there. The browser keeps a secret in a
 * cookie; the form has a keyed hash of the session under it. Other sites can neither read the one nor make the other.
 */
export class CsrfToken {
  private constructor(
    private readonly secret: string,
    private readonly sessionToken: string,
    /** Sets the cookie; undefined when the browser has it. */
    readonly cookie: string | undefined,
  ) {}

  /** @param isHttps the cookie can be one that other hosts of the domain cannot set */
  static of(cookieHeader: string | undefined, sessionToken: string | undefined, isHttps: boolean): CsrfToken {
    const name = isHttps ? '__Host-form-secret' : 'form-secret';
    const found = cookieOf(cookieHeader, name);
    const secret = found ?? randomBytes(32).toString('base64url');
    const attributes = `Path=/; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`;
    return new CsrfToken(secret, sessionToken ?? '', found ? undefined : `${name}=${secret}; ${attributes}`);
  }

  get value(): string {
    return createHmac('sha256', this.secret).update(this.sessionToken).digest('base64url');
  }

  /** A browser that has brought no cookie has no form of ours. */
  accepts(value: string | undefined): boolean {
    return this.cookie === undefined && value !== undefined && equalSecrets(value, this.value);
  }
}

/** Two cookies of one name are none: one of them is somebody else's. */
function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value] = values;
  return values.length === 1 && value !== undefined && SECRET.test(value) ? value : undefined;
}
