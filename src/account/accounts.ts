import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';

/** The columns of a listed account; `u` is its row in `users`. */
const ACCOUNT = `
  u.id, u.email, u.name, u.created_at AS "createdAt", u.suspended_at AS "suspendedAt", u.promoted_at AS "promotedAt",
  greatest(
    (SELECT max(updated_at) FROM auth_sessions WHERE user_id = u.id),
    (SELECT max(last_used_at) FROM access_tokens WHERE user_id = u.id),
    (SELECT max(last_seen_at) FROM devices WHERE user_id = u.id)
  ) AS "lastSeenAt",
  coalesce((SELECT used_bytes FROM storage_accounts WHERE user_id = u.id), 0) AS "assetBytes"`;

const accountsStatements = {
  /**
   * Up to $1 accounts in the order of their addresses, above $2; with $3, only those with that text in address or name. Scans the
   * index on addresses, so a page costs no more with 100,000 accounts.
   */
  page: statement(
    'accounts.page',
    `SELECT ${ACCOUNT} FROM users u
     WHERE email > $2
       AND ($3 = '' OR strpos(lower(email), lower($3)) > 0 OR strpos(lower(name), lower($3)) > 0)
     ORDER BY email LIMIT $1`,
  ),

  /** One account, with the credentials that are valid at $2. */
  one: statement(
    'accounts.one',
    `SELECT ${ACCOUNT},
       (SELECT count(*)::int FROM auth_sessions WHERE user_id = u.id AND expires_at > $2) AS sessions,
       (SELECT count(*)::int FROM access_tokens
        WHERE user_id = u.id AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)) AS tokens,
       (SELECT count(*)::int FROM devices WHERE user_id = u.id) AS devices,
       EXISTS (SELECT 1 FROM auth_accounts WHERE user_id = u.id AND provider_id LIKE 'oidc:%') AS "isLinked"
     FROM users u WHERE u.id = $1`,
  ),

  /** What the accounts $1 have in their workspaces; no row for one without any. */
  held: statement(
    'accounts.held',
    `SELECT user_id AS "userId", count(*)::int AS workspaces, sum(document_bytes)::bigint AS "documentBytes"
     FROM workspaces WHERE user_id = ANY ($1::uuid[]) AND deleted_at IS NULL GROUP BY user_id`,
  ),
};

/** An account as the operator sees it. */
export interface ListedAccount {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly createdAt: Date;
  /** Null unless it is suspended. */
  readonly suspendedAt: Date | null;
  /** Null unless it is an administrator's. */
  readonly promotedAt: Date | null;
  /** When a session, an access token or a device was last seen, accurate to a day or a minute; null for never. */
  readonly lastSeenAt: Date | null;
  readonly workspaces: number;
  /** Bytes of all stored versions in the account's workspaces. */
  readonly documentBytes: number;
  /** Bytes of the account's assets. */
  readonly assetBytes: number;
}

/** A listed account with the number of its live sessions and tokens, and of its devices. */
export interface AccountDetails extends ListedAccount {
  readonly sessions: number;
  readonly tokens: number;
  readonly devices: number;
  /** Whether it is linked to single sign-on. */
  readonly isLinked: boolean;
}

export interface ListOptions {
  readonly limit: number;
  /** The page begins after this address. */
  readonly after?: string;
  /** Part of the address or the name, ignoring case. */
  readonly search?: string;
}

type Held = Pick<ListedAccount, 'workspaces' | 'documentBytes'>;
type Unheld<T extends ListedAccount> = Omit<T, keyof Held> & { readonly id: string };

const NOTHING: Held = { workspaces: 0, documentBytes: 0 };

/** All accounts, for the operator. */
@Injectable()
export class Accounts {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** A page in the order of the addresses. */
  async list({ limit, after = '', search = '' }: ListOptions): Promise<ListedAccount[]> {
    const values = [limit, after.toLowerCase(), search];
    return this.withHeld(await this.database.run<Unheld<ListedAccount>>(accountsStatements.page, values));
  }

  /** @throws NotFound */
  async get(userId: string): Promise<AccountDetails> {
    const values = [userId, this.clock.now()];
    const found = await this.database.run<Unheld<AccountDetails>>(accountsStatements.one, values);
    const [account] = await this.withHeld(found);
    if (!account) throw new NotFound('user not found');
    return account;
  }

  /** By a statement of its own: engines that distribute workspaces cannot join them with other tables. */
  private async withHeld<T extends ListedAccount>(accounts: readonly Unheld<T>[]): Promise<T[]> {
    const held = await this.database.run<Held & { userId: string }>(accountsStatements.held, [
      accounts.map(({ id }) => id),
    ]);
    const byId = new Map(held.map(({ userId, ...rest }) => [userId, rest]));
    return accounts.map((account) => ({ ...NOTHING, ...account, ...byId.get(account.id) }) as T);
  }
}
