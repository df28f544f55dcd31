import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import { WorkspacesOfUser } from '../workspaces/index.js';
import { accountsStatements, accountStatements } from './accounts.queries.js';

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

  /** A separate statement: engines that distribute workspaces cannot join them with other tables. */
  private async withHeld<T extends ListedAccount>(accounts: readonly Unheld<T>[]): Promise<T[]> {
    const held = await this.database.run<Held & { userId: string }>(accountsStatements.held, [
      accounts.map(({ id }) => id),
    ]);
    const byId = new Map(held.map(({ userId, ...rest }) => [userId, rest]));
    return accounts.map((account) => ({ ...NOTHING, ...account, ...byId.get(account.id) }) as T);
  }
}

/** Workspaces listed per account, at most. */
export const MOST_WORKSPACES = 100;

/** Versions and attachments of a workspace are counted up to this number. */
export const MOST_COUNTED = 1_000;

/** A workspace and its contents. */
export interface WorkspaceContents {
  readonly id: string;
  readonly name: string;
  /** Live files. */
  readonly files: number;
  /** Bytes of all versions. */
  readonly documentBytes: number;
  /** At most `MOST_COUNTED` + 1, which stands for more; `assets` too. */
  readonly versions: number;
  readonly assets: number;
  /** Bytes of the counted attachments. */
  readonly assetBytes: number;
  readonly createdAt: Date;
  /** When a file was last changed; null for an empty workspace. */
  readonly changedAt: Date | null;
}

/** Reads the contents of an account's workspaces. */
@Injectable()
export class ContentsOfWorkspaces {
  constructor(
    private readonly database: Database,
    private readonly workspacesOfUser: WorkspacesOfUser,
  ) {}

  /** The newest workspaces, at most `MOST_WORKSPACES`. */
  async of(userId: string): Promise<WorkspaceContents[]> {
    const listed: WorkspaceContents[] = [];
    for (const { id } of await this.workspacesOfUser.newest(userId, MOST_WORKSPACES))
      listed.push(
        ...(await this.database.run<WorkspaceContents>(accountStatements.workspace, [id, MOST_COUNTED])),
      );
    return listed;
  }
}
