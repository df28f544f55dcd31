import { Injectable } from '@nestjs/common';
import type { Acting } from '../../domain/auth/audit/index.js';
import { AccessTokens, type TokenOwner } from '../../domain/auth/access-tokens/index.js';
import { type Scope, SCOPES } from '../../access/index.js';
import type { Form } from '../layout/index.js';
import { Clock } from '../../platform/clock.js';
import { asName, Conflict } from '../../platform/http/index.js';
import { WorkspacesOfUser } from '../../domain/workspaces/index.js';

const DAY_MS = 24 * 60 * 60_000;

/** Tokens listed, at most. Older ones appear when some of these are revoked. */
export const MOST_TOKENS = 100;

/** The lifetimes, in days, that the form offers. */
export const LIFETIMES = ['30', '90', '365', 'never'] as const;

const TOO_MANY = 'This account has the maximum number of access tokens. Revoke one first.';

export type MintField = 'name' | 'scopes' | 'workspace' | 'expiry' | 'password';

export interface ListedToken {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** Null when the token is not bound to a workspace. */
  readonly workspaceName: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
}

export interface TokenOverview {
  /** The live tokens, newest first, at most `MOST_TOKENS`. */
  readonly tokens: readonly ListedToken[];
  readonly workspaces: readonly { readonly id: string; readonly name: string }[];
}

/** Whether a token outlives the session or may do what a session may: such a token needs a recent sign-in. */
export function isLasting(form: Form): boolean {
  return form.all('scopes').includes('full') || form.text('expiry') === 'never';
}

/** The faults in a token form, and the values that were entered. */
export interface RejectedToken {
  readonly faults: Readonly<Partial<Record<MintField, string>>>;
  readonly values: {
    readonly name: string;
    readonly scopes: readonly string[];
    readonly workspaceId: string;
    readonly expiry: string;
  };
}

/** The token forms of the account page. */
@Injectable()
export class TokenForms {
  constructor(
    private readonly accessTokens: AccessTokens,
    private readonly workspaces: WorkspacesOfUser,
    private readonly clock: Clock,
  ) {}

  async overview(userId: string): Promise<TokenOverview> {
    const live = await this.accessTokens.live(userId, MOST_TOKENS);
    const bound = live.flatMap(({ workspaceId }) => workspaceId ?? []);
    const names = await this.workspaces.names(userId, bound);
    const tokens = live.map(({ workspaceId, ...token }) => ({
      ...token,
      workspaceName: workspaceId === null ? null : (names.get(workspaceId) ?? 'a deleted workspace'),
    }));
    return { tokens, workspaces: await this.workspaces.oldest(userId) };
  }

  /** The form again, with what is wrong with the password. */
  unconfirmed(form: Form, fault: string | undefined): RejectedToken {
    return { faults: fault === undefined ? {} : { password: fault }, values: valuesOf(form) };
  }

  /** Creates a token, to be shown once. @throws TooManyRequests, and NotFound for another user's workspace */
  async mint(
    owner: TokenOwner,
    form: Form,
    by: Acting,
  ): Promise<{ name: string; raw: string } | RejectedToken> {
    const values = valuesOf(form);
    const { name, scopes, workspaceId, expiry } = values;
    const faults = {
      ...(asName(name) !== undefined ? {} : { name: 'Enter a name of 1 to 255 characters.' }),
      ...(scopes.length > 0 && scopes.every(isScope) ? {} : { scopes: 'Choose at least one permission.' }),
      // Without the field the token would be valid for all workspaces.
      ...(form.get('workspace') === undefined ? { workspace: 'Choose a workspace, or all of them.' } : {}),
      ...(LIFETIMES.some((one) => one === expiry) ? {} : { expiry: 'Choose when the token expires.' }),
    };
    if (Object.keys(faults).length > 0) return { faults, values };
    try {
      const request = {
        name,
        scopes: SCOPES.filter((scope) => scopes.includes(scope)),
        workspaceId: workspaceId || null,
        expiresAt: expiry === 'never' ? null : this.inDays(Number(expiry)),
      };
      const { raw } = await this.accessTokens.mint(owner, request, by);
      return { name, raw };
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      return { faults: { name: TOO_MANY }, values };
    }
  }

  /** @throws NotFound */
  revoke(userId: string, id: string, by: Acting): Promise<void> {
    return this.accessTokens.revoke(userId, id, by);
  }

  private inDays(days: number): string {
    return new Date(this.clock.now().getTime() + days * DAY_MS).toISOString();
  }
}

const isScope = (text: string): text is Scope => SCOPES.some((scope) => scope === text);

function valuesOf(form: Form): RejectedToken['values'] {
  return {
    name: form.text('name'),
    scopes: form.all('scopes'),
    workspaceId: form.text('workspace'),
    expiry: form.text('expiry'),
  };
}
