import { Injectable } from '@nestjs/common';
import { KillSwitch } from '../../platform/kill-switch/index.js';
import type { Client, SignedIn } from './browser-sessions.js';
import { type EnteredCode, isPending, SecondFactors } from './factors/index.js';
import { GuessLimit } from './guess-limit.js';
import { IdentityClient } from './identity-client.js';

/** Why a code was refused; `out-of-date` means that no sign-in waits for one any more. */
export type CodeRefusal = 'wrong-code' | 'out-of-date';

/** A browser whose user is signed in. */
interface Browser {
  readonly cookie: string | undefined;
  readonly client: Client;
}

const ACTIONS = { totp: 'two-factor/verify-totp', backup: 'two-factor/verify-backup-code' } as const;
const MAX_USER_AGENT = 512;

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
   * Whether a code of the signed-in user was right; it then counts as a recent sign-in. Without a factor no code is: that of a
   * set-up would finish it. @throws TooManyRequests
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
    { cookie, client: { ip, userAgent } }: Browser,
    body: object,
  ): Promise<{ body: Answer; cookies: readonly string[] }> {
    await this.guessLimit.count(action, ip);
    const headers = { 'user-agent': userAgent.slice(0, MAX_USER_AGENT), ...(cookie ? { cookie } : {}) };
    return this.identityClient.ask<Answer>(action, ip, headers, body);
  }
}

interface Answer {
  readonly user?: { readonly id: string };
  readonly token?: string;
  readonly code?: string;
  readonly totpURI?: string;
  readonly backupCodes?: readonly string[];
}
