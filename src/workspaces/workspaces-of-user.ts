import { Injectable } from '@nestjs/common';
import type { Principal } from '../access/index.js';
import { lockOwnUser } from '../auth/index.js';
import { Clock } from '../platform/clock/index.js';
import {
  AmbiguousCommit,
  BEFORE_ALL_IDS,
  Database,
  isUnanswered,
  newId,
  pagesById,
  type Statement,
  statement,
  type Tx,
} from '../platform/database/index.js';
import { Conflict } from '../platform/http/index.js';
import { WorkspaceCatalogue } from './workspace-catalogue.js';

const COLUMNS = `id, user_id AS "userId", name, encryption_salt AS "encryptionSalt",
            created_at AS "createdAt", updated_at AS "updatedAt"`;

/** Reads the user's live workspaces, $1; on nodes, from the catalogue. */
const listing = (name: string, condition: string): Statement =>
  statement(
    name,
    `SELECT ${COLUMNS} FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL AND ${condition}`,
    {
      onNodes: `SELECT ${COLUMNS} FROM workspace_catalogue WHERE user_id = $1 AND ${condition}`,
    },
  );

export const workspacesOfUserStatements = {
  /** Ids are UUIDv7, so they sort by creation. */
  page: listing('workspaces_of_user.page', 'id > $2 ORDER BY id LIMIT $3'),

  one: listing('workspaces_of_user.one', 'id = $2'),

  among: listing('workspaces_of_user.among', 'id = ANY ($2::uuid[])'),

  /** Run this under the lock of the user. Inserts nothing if the user already has $5 workspaces. */
  create: statement(
    'workspaces_of_user.create',
    `INSERT INTO workspaces (id, user_id, name, created_at, updated_at)
     SELECT $1::uuid, $2::uuid, $3::text, $4::timestamptz, $4::timestamptz
     WHERE NOT EXISTS (SELECT 1 FROM workspaces WHERE user_id = $2 AND deleted_at IS NULL OFFSET $5::integer - 1)
     RETURNING ${COLUMNS}`,
    {
      onNodes: `INSERT INTO workspaces (id, user_id, name, created_at, updated_at) VALUES ($1, $2, $3, $4, $4) RETURNING ${COLUMNS}`,
    },
  ),
};

const PAGE = 500;

/** Per user, not counting deleted ones. */
const MAX_WORKSPACES = 1_000;

/** The ids that are tried for a new workspace until one belongs to a node that answers. */
const MAX_IDS = 200;

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
    private readonly catalogue: WorkspaceCatalogue,
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
    const created = await this.createOnNode(userId, name);
    if (!created)
      throw new Conflict(`a user can have at most ${MAX_WORKSPACES} workspaces: delete one first`);
    return created;
  }

  /** A node that is away gets no new workspace: the id decides, and another one is tried. */
  private async createOnNode(userId: string, name: string): Promise<ListedWorkspace | undefined> {
    const away = new Set<string | undefined>();
    for (let attempt = 1; ; attempt++) {
      const id = newId();
      const node = await this.database.nodeOf(id);
      if (away.has(node) && attempt < MAX_IDS) continue;
      try {
        return await this.database.sharedTransaction((tx) => this.insert(tx, id, userId, name), id);
      } catch (error) {
        if (node === undefined || away.has(node) || !isUnanswered(error) || error instanceof AmbiguousCommit)
          throw error;
        away.add(node);
      }
    }
  }

  private async insert(
    tx: Tx,
    id: string,
    userId: string,
    name: string,
  ): Promise<ListedWorkspace | undefined> {
    await lockOwnUser(tx, userId);
    if (await this.catalogue.isFull(tx, userId, MAX_WORKSPACES)) return undefined;
    const values = [id, userId, name, this.clock.now()];
    const most = this.database.isDistributed ? [] : [MAX_WORKSPACES];
    const [created] = await tx.run<ListedWorkspace>(workspacesOfUserStatements.create, [...values, ...most]);
    if (created) await this.catalogue.add(tx, created);
    return created;
  }

  private page(userId: string, above: string, limit: number): Promise<ListedWorkspace[]> {
    return this.database.run(workspacesOfUserStatements.page, [userId, above, limit]);
  }
}
