import { Injectable } from '@nestjs/common';
import type { Acting } from '../../domain/auth/audit/index.js';
import { AccessTokens, type TokenOwner } from '../../domain/auth/access-tokens/index.js';
import { type Scope, SCOPES } from '../../access/index.js';
import { type Faults, type Form, NAME_FAULT } from '../layout/index.js';
import { Clock } from '../../platform/clock.js';
import { asName, Conflict } from '../../platform/http/index.js';
import { WorkspacesOfUser } from '../../domain/workspaces/index.js';

const DAY_MS = 24 * 60 * 60_000;

/** Tokens listed, at most. Older ones appear when some of these are revoked. */
export const MOST_TOKENS = 100;

/** The lifetimes, in days, that the form offers. */
export const LIFETIMES = ['30', '90', '365', 'never'] as const;

const TOO_MANY = 'This account has the maximum number of access tokens. Revoke one first.';

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

  /** Creates a token, to be shown once. @throws TooManyRequests, and NotFound for another user's workspace */
  async mint(
    owner: TokenOwner,
    form: Form,
    by: Acting,
  ): Promise<{ name: string; raw: string } | { faults: Faults }> {
    const [name, expiry, workspaceId] = [form.text('name'), form.text('expiry'), form.text('workspace')];
    const scopes = form.all('scopes');
    const faults = {
      name: asName(name) === undefined ? NAME_FAULT : undefined,
      scopes: scopes.length > 0 && scopes.every(isScope) ? undefined : 'Choose at least one permission.',
      // Without the field the token would be valid for all workspaces.
      workspace: form.get('workspace') === undefined ? 'Choose a workspace, or all of them.' : undefined,
      expiry: LIFETIMES.some((one) => one === expiry) ? undefined : 'Choose when the token expires.',
    };
    if (Object.values(faults).some(Boolean)) return { faults };
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
      return { faults: { name: TOO_MANY } };
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
