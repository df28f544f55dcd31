import { Inject, Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Forbidden } from '../platform/http/index.js';
import { KillSwitch } from '../platform/kill-switch/index.js';
import { GuessLimit } from './guess-limit.js';
import type { Identity } from './identity.js';
import { IDENTITY } from './identity.provider.js';
import { IdentityClient } from './identity-client.js';

/** Who makes a request, as far as a session remembers it. */
export interface Client {
  readonly ip: string;
  readonly userAgent: string;
}

/** The session that a browser's cookie stands for, and its user. */
export interface BrowserSession {
  readonly id: string;
  /** A secret: it must not leave the service. */
  readonly token: string;
  readonly userId: string;
  readonly email: string;
  readonly name: string;
}

/** Why somebody was not let in; `unfit` is a name or an address that cannot be stored. */
export type Refusal =
  | 'wrong-credentials'
  | 'invalid-email'
  | 'email-taken'
  | 'password-too-short'
  | 'password-too-long'
  | 'password-too-common'
  | 'no-password'
  | 'unfit';

/** A new session in the browser: its cookies are still to be set. */
export interface SignedIn {
  readonly userId: string;
  /** A secret: it must not leave the service. */
  readonly token: string;
  readonly cookies: readonly string[];
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  INVALID_EMAIL_OR_PASSWORD: 'wrong-credentials',
  INVALID_EMAIL: 'invalid-email',
  INVALID_PASSWORD: 'wrong-credentials',
  PASSWORD_TOO_SHORT: 'password-too-short',
  PASSWORD_TOO_LONG: 'password-too-long',
  PASSWORD_TOO_COMMON: 'password-too-common',
  CREDENTIAL_ACCOUNT_NOT_FOUND: 'no-password',
  USER_ALREADY_EXISTS: 'email-taken',
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: 'email-taken',
  FAILED_TO_CREATE_USER: 'email-taken', // somebody else has been faster
};

const MAX_USER_AGENT = 512;

/**
 * The identity handler as the service's own pages use it. They check origin and form themselves, so nothing here looks
 * at where a request comes from; only a request's cookies and its client are passed on.
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
   * Whose browser it is, by its Cookie header; null for nobody's. @throws AccountSuspended. With the cookies that the browser has to take over: a
   * session slides, at most once a day, and one that has ended is forgotten.
   */
  async of(
    cookie: string | undefined,
    { ip }: Pick<Client, 'ip'>,
  ): Promise<{ session: BrowserSession | null; cookies: readonly string[] }> {
    if (cookie === undefined) return { session: null, cookies: [] };
    const { body, cookies } = await this.identityClient.ask<Found | null>('get-session', ip, { cookie });
    if (!body) return { session: null, cookies };
    const { id, token } = body.session;
    const { id: userId, email, name } = body.user;
    return { session: { id, token, userId, email, name }, cookies };
  }

  /** @throws TooManyRequests after ten tries a minute from an address, those of the API counted */
  async signIn(email: string, password: string, client: Client): Promise<SignedIn | { refusal: Refusal }> {
    await this.guessLimit.count('sign-in/email', client.ip);
    return this.enter('sign-in/email', { email, password }, client);
  }

  /** @throws Forbidden where signing up is switched off, ServiceUnavailable while read-only, TooManyRequests as above */
  async signUp(
    account: { email: string; password: string; name: string },
    client: Client,
  ): Promise<SignedIn | { refusal: Refusal }> {
    this.killSwitch.refuseWhen('read-only');
    if (!this.configuration.signupEnabled) throw new Forbidden('signing up is switched off');
    await this.guessLimit.count('sign-up/email', client.ip);
    return this.enter('sign-up/email', account, client);
  }

  /**
   * Changes the password of who is signed in. All other sessions end, and this one gets a new token.
   * @throws ServiceUnavailable while read-only, TooManyRequests as above
   */
  async changePassword(
    cookie: string | undefined,
    change: { currentPassword: string; newPassword: string; revokeAccessTokens: boolean },
    client: Client,
  ): Promise<{ cookies: readonly string[] } | { refusal: Refusal }> {
    this.killSwitch.refuseWhen('read-only');
    await this.guessLimit.count('change-password', client.ip);
    const headers = { ...userAgentOf(client), ...(cookie === undefined ? {} : { cookie }) };
    const body = { ...change, revokeOtherSessions: true };
    const { body: answer, cookies } = await this.identityClient.ask<Entered>(
      'change-password',
      client.ip,
      headers,
      body,
    );
    return answer.user ? { cookies } : { refusal: refusalOf(answer) };
  }

  /** Ends a new session whose cookies no browser will get. */
  async forget({ token }: Pick<SignedIn, 'token'>): Promise<void> {
    await (await this.identity.$context).internalAdapter.deleteSession(token);
  }

  /** Ends the browser's session. Returns the cookies that make it forget. */
  async signOut(cookie: string | undefined, { ip }: Pick<Client, 'ip'>): Promise<readonly string[]> {
    const headers: Record<string, string> = cookie === undefined ? {} : { cookie };
    return (await this.identityClient.ask('sign-out', ip, headers, {})).cookies;
  }

  /**
   * Makes a session of its own for an app and returns a one-time token for it. The handler hands over the very session
   * that a token was minted from: minted from the browser's, the two would end together.
   * @param browser the browser's session. @throws Forbidden when it ends meanwhile: a password may have been changed; AccountSuspended
   */
  async handOver(browser: { userId: string; token: string }, client: Client): Promise<string> {
    const { internalAdapter } = await this.identity.$context;
    const session = await internalAdapter.createSession(browser.userId, false, {
      ipAddress: client.ip,
      userAgent: client.userAgent.slice(0, MAX_USER_AGENT),
    });
    try {
      if (!(await internalAdapter.findSession(browser.token)))
        throw new Forbidden('the browser was signed out');
      const authorization = `Bearer ${session.token}`;
      const action = 'one-time-token/generate';
      return (await this.identityClient.ask<{ token: string }>(action, client.ip, { authorization })).body
        .token;
    } catch (error) {
      await internalAdapter.deleteSession(session.token); // nobody will ever get it
      throw error;
    }
  }

  private async enter(
    action: string,
    body: object,
    client: Client,
  ): Promise<SignedIn | { refusal: Refusal }> {
    const { body: answer, cookies } = await this.identityClient.ask<Entered>(
      action,
      client.ip,
      userAgentOf(client),
      body,
    );
    if (answer.user && answer.token) return { userId: answer.user.id, token: answer.token, cookies };
    return { refusal: refusalOf(answer) };
  }
}

function userAgentOf({ userAgent }: Client): Record<string, string> {
  return { 'user-agent': userAgent.slice(0, MAX_USER_AGENT) };
}

const refusalOf = ({ code = '' }: Entered): Refusal => REFUSALS[code] ?? 'unfit';

interface Entered {
  readonly user?: { readonly id: string };
  readonly token?: string;
  readonly code?: string;
}

interface Found {
  readonly session: { readonly id: string; readonly token: string };
  readonly user: { readonly id: string; readonly email: string; readonly name: string };
}
