import { Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { asName, ServiceUnavailable } from '../../../platform/http/index.js';
import { KillSwitch } from '../../../platform/kill-switch.js';
import { Log } from '../../../platform/log.js';
import type { SignedIn, WaitsForFactor } from '../browser-sessions.js';
import { isEmailAddress } from '../account-fields.js';
import type { Client } from '../identity-request.js';
import { type Identification, NewSessions } from '../new-sessions.js';
import { LinkedAccounts, type LinkRefusal, ProviderSignIns } from './linked-accounts.js';
import { BadAnswer, type Identified, Provider, ProviderAway, type SignInSecrets } from './provider.js';
import { RecentSignIn } from '../recent-sign-in.js';

/** The browser of a request: what it alone can compute, and the user who is signed in in it. */
export interface Browser {
  /** A secret text for a purpose, keyed with the browser's own secret. */
  readonly derive: (purpose: string) => string;
  readonly client: Client;
  readonly session: { readonly id: string; readonly userId: string } | null;
}

/** The parameters with which the provider sends the browser back; the user can tamper with them. */
export interface Answer {
  readonly state: string | undefined;
  readonly code: string | undefined;
  readonly error: string | undefined;
  /** The `iss` parameter of RFC 9207. */
  readonly issuer: string | undefined;
}

/**
 * Why a sign-in was refused. `out-of-date`: no such sign-in has begun in this browser, or it has ended. `declined`: the person or
 * the provider refused. `bad-answer`: the answer proves nothing.
 */
export type SingleSignOnRefusal =
  'out-of-date' | 'declined' | 'bad-answer' | 'no-address' | 'unverified-address' | LinkRefusal;

/** `returnTo`: the path of the page on which the sign-in began, unless it is unknown. */
export type SingleSignOnResult =
  | { readonly entered: SignedIn | WaitsForFactor; readonly returnTo: string }
  | { readonly refusal: SingleSignOnRefusal; readonly returnTo: string | undefined };

/** Signs people in who have an account at the operator's OpenID Connect provider. */
@Injectable()
export class SingleSignOn {
  constructor(
    private readonly provider: Provider,
    private readonly pending: ProviderSignIns,
    private readonly accounts: LinkedAccounts,
    private readonly sessions: NewSessions,
    private readonly recentSignIn: RecentSignIn,
    private readonly killSwitch: KillSwitch,
    private readonly log: Log,
  ) {}

  /**
   * Begins a sign-in. Returns the provider's address to send the browser to.
   * @param returnTo a path of this service, already checked: the browser is sent there afterwards
   * @param isFresh whether the person must sign in at the provider again, even if it remembers them
   * @throws ServiceUnavailable while the provider is away
   */
  async begin({ derive }: Browser, returnTo: string, isFresh: boolean): Promise<string> {
    const state = randomBytes(32).toString('base64url');
    const { nonce, verifier } = secretsOf(derive, state);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const address = await this.asking(() =>
      this.provider.signInAddress({ state, nonce, challenge, isFresh }),
    );
    await this.pending.add(keyOf(derive, state), returnTo);
    return address;
  }

  /**
   * Completes a sign-in with the provider's answer: once, and only in the browser that began it.
   * @throws ServiceUnavailable while the provider is away or for a new account while read-only, AccountSuspended
   */
  async finish(browser: Browser, answer: Answer): Promise<SingleSignOnResult> {
    const { state = '' } = answer;
    const returnTo = await this.pending.take(keyOf(browser.derive, state));
    if (returnTo === undefined) return { refusal: 'out-of-date', returnTo };
    try {
      const entered = await this.asking(() => this.enter(browser, answer, state));
      if ('refusal' in entered) return { ...entered, returnTo };
      const begun = await this.sessions.begin(entered, browser.client);
      if ((await this.accounts.find(entered.subject)) === entered.userId) return { entered: begun, returnTo };
      await this.sessions.undo(entered.userId, begun); // the link was ended meanwhile
      return { refusal: 'out-of-date', returnTo };
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error;
      this.log.warn({ reason: error.message }, 'an answer of the single sign-on provider was refused');
      return { refusal: 'bad-answer', returnTo };
    }
  }

  private async enter(browser: Browser, answer: Answer, state: string): Promise<Entered> {
    await this.provider.checkIssuer(answer.issuer);
    if (answer.error !== undefined) return { refusal: 'declined' };
    if (answer.code === undefined) throw new BadAnswer('there is no code');
    const identified = await this.provider.identify(answer.code, secretsOf(browser.derive, state));
    const { subject, authenticatedAt } = identified;
    const userId = await this.accounts.find(subject);
    const linked = userId === undefined ? await this.link(identified, browser) : { userId };
    return 'refusal' in linked ? linked : { ...linked, confirmedAt: authenticatedAt, subject };
  }

  /** Links an account at a person's first sign-in. */
  private async link({ subject, profile }: Identified, browser: Browser): Promise<Linked> {
    this.killSwitch.refuseWhen('read-only');
    const { email, email_verified: isVerified, name, preferred_username: nickname } = await profile();
    if (typeof email !== 'string' || !isEmailAddress(email)) return { refusal: 'no-address' };
    // Also when no account has the address: the answer must not disclose whether one has.
    if (isVerified !== true) return { refusal: 'unverified-address' };
    return this.accounts.link({
      subject,
      email: email.toLowerCase(),
      name: asName(name) ?? asName(nickname) ?? email.replace(/@.*/, ''),
      provenUserId: await this.provenUser(browser),
      client: browser.client,
    });
  }

  private async provenUser({ session }: Browser): Promise<string | undefined> {
    return session && (await this.recentSignIn.isRecent(session.id)) ? session.userId : undefined;
  }

  private async asking<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ProviderAway)) throw error;
      this.log.warn({ err: error }, 'the single sign-on provider is away');
      throw new ServiceUnavailable('the sign-in provider cannot be reached', RETRY_SECONDS);
    }
  }
}

const RETRY_SECONDS = 30;

type Refused = { readonly refusal: SingleSignOnRefusal };
type Linked = { readonly userId: string } | Refused;
type Entered = (Identification & { readonly subject: string }) | Refused;

type Derive = Browser['derive'];

/** Another browser computes another key, and does not find the sign-in. */
const keyOf = (derive: Derive, state: string): string => derive(`single-sign-on ${state}`);

/** Derived, not stored: a reader of the database cannot use an answer that was meant for the browser. */
const secretsOf = (derive: Derive, state: string): SignInSecrets => ({
  nonce: derive(`single-sign-on nonce ${state}`),
  verifier: derive(`single-sign-on verifier ${state}`),
});
