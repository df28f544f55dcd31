import { Injectable } from '@nestjs/common';
import type { Principal } from '../access/index.js';
import { lockOwnUser } from '../auth/index.js';
import { Clock } from '../platform/clock/index.js';
import { BEFORE_ALL_IDS, Database, newId, pagesById, statement } from '../platform/database/index.js';
import { Conflict } from '../platform/http/index.js';

const COLUMNS = `id, user_id AS "userId", name, encryption_salt AS "encryptionSalt",
            created_at AS "createdAt", updated_at AS "updatedAt"`;

export const workspacesOfUserStatements = {
  /** Ids are UUIDv7, so they sort by creation. */
  page: statement(
    'workspaces_of_user.page',
    `SELECT ${COLUMNS} FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL AND id > $2 ORDER BY id LIMIT $3`,
  ),

  one: statement(
    'workspaces_of_user.one',
    `SELECT ${COLUMNS} FROM workspaces WHERE id = $2 AND user_id = $1 AND deleted_at IS NULL`,
  ),

  among: statement(
    'workspaces_of_user.among',
    `SELECT ${COLUMNS} FROM workspaces WHERE id = ANY ($2::uuid[]) AND user_id = $1 AND deleted_at IS NULL`,
  ),

  /** Run this under the lock of the user. Inserts nothing if the user already has $5 workspaces. */
  create: statement(
    'workspaces_of_user.create',
    `INSERT INTO workspaces (id, user_id, name, created_at, updated_at)
     SELECT $1::uuid, $2::uuid, $3::text, $4::timestamptz, $4::timestamptz
     WHERE NOT EXISTS (SELECT 1 FROM workspaces WHERE user_id = $2 AND deleted_at IS NULL OFFSET $5::integer - 1)
     RETURNING ${COLUMNS}`,
  ),
};

const PAGE = 500;

/** Per user, not counting deleted ones. */
const MAX_WORKSPACES = 1_000;

/** A workspace as its owner sees it. */
export interface ListedWorkspace {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** Null until encryption is set up. */
  readonly encryptionSalt: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Lists a user's workspaces and creates new ones. */
@Injectable()
export class WorkspacesOfUser {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Oldest first, page by page; only the token's workspace if the token is bound to one. */
  async *list({ userId, workspaceId }: Principal): AsyncGenerator<ListedWorkspace[], void> {
    if (workspaceId !== null) {
      yield await this.database.run(workspacesOfUserStatements.one, [userId, workspaceId]);
      return;
    }
    yield* pagesById(BEFORE_ALL_IDS, PAGE, (above) => this.page(userId, above, PAGE));
  }

  /** The oldest workspaces, up to the maximum a user can have. */
  oldest(userId: string): Promise<ListedWorkspace[]> {
    return this.page(userId, BEFORE_ALL_IDS, MAX_WORKSPACES);
  }

  /** The names of the user's live workspaces among `ids`, by id. */
  async names(userId: string, ids: readonly string[]): Promise<Map<string, string>> {
    const values = [userId, ids];
    const rows = await this.database.run<ListedWorkspace>(workspacesOfUserStatements.among, values);
    return new Map(rows.map(({ id, name }) => [id, name]));
  }

  /** @throws Conflict when the user already has 1,000, Unauthorized when the account has just been deleted */
  async create(userId: string, name: string): Promise<ListedWorkspace> {
    const values = [newId(), userId, name, this.clock.now(), MAX_WORKSPACES];
    const [created] = await this.database.transaction(async (tx) => {
      await lockOwnUser(tx, userId);
      return tx.run<ListedWorkspace>(workspacesOfUserStatements.create, values);
    });
    if (!created)
      throw new Conflict(`a user can have at most ${MAX_WORKSPACES} workspaces: delete one first`);
    return created;
  }

  private page(userId: string, above: string, limit: number): Promise<ListedWorkspace[]> {
    return this.database.run(workspacesOfUserStatements.page, [userId, above, limit]);
  }
}
