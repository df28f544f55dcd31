import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { accountsStatements } from './accounts.queries.js';

/** An account, as the operator sees it. */
export interface ListedAccount {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly createdAt: Date;
  /** Null unless it is suspended. */
  readonly suspendedAt: Date | null;
  /** When a session, an access token or a device was last seen, to a day or a minute; null for never. */
  readonly lastSeenAt: Date | null;
  readonly workspaces: number;
  /** Bytes of all kept versions in them. */
  readonly documentBytes: number;
  /** Bytes of its assets. */
  readonly assetBytes: number;
}

/** The same, with what can act for it now. */
export interface AccountDetails extends ListedAccount {
  readonly sessions: number;
  readonly tokens: number;
  readonly devices: number;
}

export interface ListOptions {
  readonly limit: number;
  /** The page begins behind this address. */
  readonly after?: string;
  /** Part of the address or the name, whatever the case. */
  readonly search?: string;
}

/** All accounts, for the operator. */
@Injectable()
export class Accounts {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** A page in the order of the addresses. */
  list({ limit, after = '', search = '' }: ListOptions): Promise<ListedAccount[]> {
    const values = [limit, after.toLowerCase(), search];
    return this.database.run<ListedAccount>(accountsStatements.page, values);
  }

  /** @throws NotFound */
  async get(userId: string): Promise<AccountDetails> {
    const values = [userId, this.clock.now()];
    const [account] = await this.database.run<AccountDetails>(accountsStatements.one, values);
    if (!account) throw new NotFound('user not found');
    return account;
  }
}
