import { Inject, Injectable } from '@nestjs/common';
import { Configuration } from '../../platform/config/index.js';
import { Forbidden } from '../../platform/http/index.js';
import { KillSwitch } from '../../platform/kill-switch.js';
import { type EnteredCode, isPending, SecondFactors } from './factors/index.js';
import { type Client, columnsOfClient, NO_PASSWORDS } from './identity-request.js';
import type { Identity } from './identity.js';
import { IDENTITY, IdentityClient } from './identity.provider.js';
import { GuessLimit } from './wrong-passwords.js';

/** The session identified by a browser's cookie, with its user. */
export interface BrowserSession {
  readonly id: string;
  /** A secret: it must not leave the service. */
  readonly token: string;
  readonly userId: string;
  readonly email: string;
  readonly name: string;
}

/** Why a sign-in, sign-up or password change was refused; `unfit` means a name or an address that cannot be stored. */
export type Refusal =
  | 'wrong-credentials'
  | 'invalid-email'
  | 'email-taken'
  | 'password-too-short'
  | 'password-too-long'
  | 'password-too-common'
  | 'no-password'
  | 'unverified'
  | 'unfit';

/** A new browser session; the caller must still set its cookies. */
export interface SignedIn {
  readonly userId: string;
  /** A secret: it must not leave the service. */
  readonly token: string;
  readonly cookies: readonly string[];
}

/** The password was right, but the account has a second factor. The cookies identify the sign-in that waits for it. */
export interface WaitsForFactor {
  readonly needsFactor: true;
  readonly cookies: readonly string[];
}

/** What a sign-in or a sign-up leads to. */
type SignInResult = SignedIn | WaitsForFactor | { refusal: Refusal };

const REFUSALS: Readonly<Record<string, Refusal>> = {
  INVALID_EMAIL_OR_PASSWORD: 'wrong-credentials',
  INVALID_EMAIL: 'invalid-email',
  INVALID_PASSWORD: 'wrong-credentials',
  PASSWORD_TOO_SHORT: 'password-too-short',
  PASSWORD_TOO_LONG: 'password-too-long',
  PASSWORD_TOO_COMMON: 'password-too-common',
  CREDENTIAL_ACCOUNT_NOT_FOUND: 'no-password',
  EMAIL_NOT_VERIFIED: 'unverified',
  USER_ALREADY_EXISTS: 'email-taken',
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: 'email-taken',
  FAILED_TO_CREATE_USER: 'email-taken', // a concurrent sign-up won
};

/**
 * The identity handler as used by the service's own pages. The pages check origin and form themselves, so this class does not
 * check where a request comes from; it passes on only the cookies and the client of a request.
 */
@Injectable()
export class BrowserSessions {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
    private readonly identityClient: IdentityClient,
    private readonly configuration: Configuration,
    private readonly guessLimit: GuessLimit,
    private readonly killSwitch: KillSwitch,
  ) {}

  /**
   * The session of a browser, by its Cookie header, or null. Also returns the cookies to set in the browser: the session's expiry
   * is extended at most once a day, and the cookie of an ended session is removed.
   * @throws AccountSuspended
   */
  async of(
    cookie: string | undefined,
    { ip }: Pick<Client, 'ip'>,
  ): Promise<{ session: BrowserSession | null; cookies: readonly string[] }> {
    if (cookie === undefined) return { session: null, cookies: [] };
    const { body, cookies } = await this.identityClient.ask<Found | null>('get-session', { ip }, { cookie });
    if (!body) return { session: null, cookies };
    const { id, token } = body.session;
    const { id: userId, email, name } = body.user;
    return { session: { id, token, userId, email, name }, cookies };
  }

  /**
   * @throws Forbidden if passwords are switched off, TooManyRequests after ten attempts a minute from an address, including those
   *   over the API
   */
  async signIn(email: string, password: string, client: Client): Promise<SignInResult> {
    this.refuseWithoutPasswords();
    return this.enter('sign-in/email', { email, password }, client);
  }

  /** @throws Forbidden if sign-up or passwords are disabled, ServiceUnavailable while read-only, TooManyRequests as above */
  async signUp(
    account: { email: string; password: string; name: string },
    client: Client,
  ): Promise<SignInResult> {
    this.killSwitch.refuseWhen('read-only');
    this.refuseWithoutPasswords();
    if (!this.configuration.signupEnabled) throw new Forbidden('sign-up is disabled');
    return this.enter('sign-up/email', account, client);
  }

  /**
   * Changes the password of the signed-in user. All other sessions end, and this one gets a new token.
   * @throws Forbidden if passwords are switched off, ServiceUnavailable while read-only, TooManyRequests as above
   */
  async changePassword(
    cookie: string | undefined,
    change: { currentPassword: string; newPassword: string; revokeAccessTokens: boolean },
    client: Client,
  ): Promise<{ cookies: readonly string[] } | { refusal: Refusal }> {
    this.killSwitch.refuseWhen('read-only');
    this.refuseWithoutPasswords();
    await this.guessLimit.count('change-password', client.ip);
    const asked = { ...change, revokeOtherSessions: true };
    const { body, cookies } = await this.identityClient.ask<Answer>(
      'change-password',
      client,
      { cookie },
      asked,
    );
    return body.user ? { cookies } : { refusal: refusalOf(body) };
  }

  /** Ends a new session whose cookies are not sent to a browser. */
  async forget({ token }: Pick<SignedIn, 'token'>): Promise<void> {
    await (await this.identity.$context).internalAdapter.deleteSession(token);
  }

  /** Ends the browser's session. Returns the cookies that remove the session from the browser. */
  async signOut(cookie: string | undefined, { ip }: Pick<Client, 'ip'>): Promise<readonly string[]> {
    return (await this.identityClient.ask('sign-out', { ip }, { cookie }, {})).cookies;
  }

  /**
   * Creates a separate session for an app and returns a one-time token for it. A one-time token hands over the session it was
   * created from; created from the browser's session, the two would end together.
   * @param browser the browser's session
   * @throws Forbidden when the browser's session ends meanwhile (the password may have been changed), AccountSuspended
   */
  async handOver(browser: { userId: string; token: string }, client: Client): Promise<string> {
    const { internalAdapter } = await this.identity.$context;
    const isSignedOut = new Forbidden('the browser session has ended');
    const found = await internalAdapter.findSession(browser.token);
    if (!found) throw isSignedOut;
    const { token } = await internalAdapter.createSession(browser.userId, false, {
      ...columnsOfClient(client),
      confirmedAt: (found.session as { confirmedAt?: Date | null }).confirmedAt ?? null,
    });
    try {
      if (!(await internalAdapter.findSession(browser.token))) throw isSignedOut;
      const { ip } = client;
      const made = await this.identityClient.ask<{ token: string }>(
        'one-time-token/generate',
        { ip },
        { token },
      );
      return made.body.token;
    } catch (error) {
      await internalAdapter.deleteSession(token); // its token was not handed out
      throw error;
    }
  }

  private refuseWithoutPasswords(): void {
    if (this.configuration.oidcOnly) throw new Forbidden(NO_PASSWORDS);
  }

  private async enter(action: string, form: object, client: Client): Promise<SignInResult> {
    await this.guessLimit.count(action, client.ip);
    const { body: answer, cookies } = await this.identityClient.ask<Answer>(action, client, {}, form);
    if (answer.user && !answer.token) return { refusal: 'unverified' };
    if (answer.user && answer.token) return { userId: answer.user.id, token: answer.token, cookies };
    // Only this cookie: the library also removes the session cookie, which may belong to a session of another account.
    if (answer.twoFactorRedirect) return { needsFactor: true, cookies: cookies.filter(isPending) };
    return { refusal: refusalOf(answer) };
  }
}

const refusalOf = ({ code = '' }: Answer): Refusal => REFUSALS[code] ?? 'unfit';

interface Answer {
  readonly user?: { readonly id: string };
  /** Null after a sign-up with an address that must be confirmed first. */
  readonly token?: string | null;
  readonly twoFactorRedirect?: true;
  readonly code?: string;
  readonly totpURI?: string;
  readonly backupCodes?: readonly string[];
}

interface Found {
  readonly session: { readonly id: string; readonly token: string };
  readonly user: { readonly id: string; readonly email: string; readonly name: string };
}

/** Why a code was refused; `out-of-date`: no sign-in waits for a code any more. */
export type CodeRefusal = 'wrong-code' | 'out-of-date';

/** A browser whose user is signed in. */
interface Browser {
  readonly cookie: string | undefined;
  readonly client: Client;
}

const ACTIONS = { totp: 'two-factor/verify-totp', backup: 'two-factor/verify-backup-code' } as const;

/** Second factors as used by the service's own pages: the same actions, limits and records as over the API. */
@Injectable()
export class BrowserFactors {
  constructor(
    private readonly identityClient: IdentityClient,
    private readonly factors: SecondFactors,
    private readonly guessLimit: GuessLimit,
    private readonly killSwitch: KillSwitch,
  ) {}

  /**
   * Completes the sign-in that waits in this browser, even while it is signed in to another account.
   * @throws TooManyRequests after five wrong codes, AccountSuspended
   */
  async signIn({ cookie, client }: Browser, { kind, code }: EnteredCode): Promise<SignedIn | CodeRefusal> {
    const pending = (cookie ?? '').split(';').filter((pair) => isPending(pair));
    const { body, cookies } = await this.ask(ACTIONS[kind], { cookie: pending.join(';'), client }, { code });
    if (body.user && body.token) return { userId: body.user.id, token: body.token, cookies };
    return body.code === 'INVALID_CODE' ? 'wrong-code' : 'out-of-date';
  }

  /**
   * Whether a code of the signed-in user is right; it then counts as a recent sign-in. False without a factor: a code would
   * finish a pending set-up. @throws TooManyRequests
   */
  async confirm(browser: Browser, userId: string, entered: EnteredCode): Promise<boolean> {
    if ((await this.factors.codesLeft(userId)) === null) return false;
    const { body } = await this.ask(ACTIONS[entered.kind], browser, { code: entered.code });
    return body.user !== undefined;
  }

  /** Begins a set-up: the `otpauth:` address of a new secret, or null when a factor is on. The sign-in must be recent. */
  async begin(browser: Browser): Promise<string | null> {
    return (await this.write('two-factor/enable', browser)).totpURI ?? null;
  }

  /** Finishes a set-up. Returns the backup codes, or null when the code is wrong. @throws TooManyRequests */
  async finish(browser: Browser, code: string): Promise<readonly string[] | null> {
    return (await this.write(ACTIONS.totp, browser, { code })).backupCodes ?? null;
  }

  /** New backup codes, or null without a factor. The sign-in must be recent. */
  async renewCodes(browser: Browser): Promise<readonly string[] | null> {
    return (await this.write('two-factor/generate-backup-codes', browser)).backupCodes ?? null;
  }

  /** Turns the factor off, if it is on. The sign-in must be recent. */
  async disable(browser: Browser): Promise<void> {
    await this.write('two-factor/disable', browser);
  }

  private async write(action: string, browser: Browser, body: object = {}): Promise<Answer> {
    this.killSwitch.refuseWhen('read-only');
    return (await this.ask(action, browser, body)).body;
  }

  private async ask(
    action: string,
    { cookie, client }: Browser,
    body: object,
  ): Promise<{ body: Answer; cookies: readonly string[] }> {
    await this.guessLimit.count(action, client.ip);
    return this.identityClient.ask<Answer>(action, client, { cookie }, body);
  }
}
