import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  Column,
  Entity,
  type FindOptionsWhere,
  In,
  IsNull,
  MoreThan,
  PrimaryColumn,
  Repository,
} from 'typeorm';
import type { Principal } from '../../access/index.js';
import { Clock } from '../../platform/clock.js';
import { BEFORE_ALL_IDS, Database, newId, pagesById, statement } from '../../platform/database/index.js';
import { Conflict } from '../../platform/http/index.js';
import { lockOwnUser } from '../auth/index.js';

@Entity('workspaces')
export class WorkspaceEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** Null once the owner's account has been deleted, and the workspace with it (constraint workspaces_owner). */
  @Column('uuid', { nullable: true })
  userId: string | null;

  @Column('text')
  name: string;

  @Column('text', { nullable: true })
  encryptionSalt: string | null;

  @Column('text', { nullable: true })
  verificationHash: string | null;

  @Column('text', { nullable: true })
  verificationSalt: string | null;

  /** Of the last change in the log. */
  @Column('bigint')
  headCursor: number;

  @Column('bigint')
  liveFiles: number;

  /** Null until the log has been compacted. */
  @Column('bigint', { nullable: true })
  compactionFloor: number | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;

  @Column('timestamptz', { nullable: true })
  deletedAt: Date | null;

  @Column('bigint')
  assetsRevision: number;

  @Column('bigint')
  documentBytes: number;
}

/** A workspace that is not deleted. */
export type LiveWorkspace = WorkspaceEntity & { readonly userId: string };

export function isLive(workspace: WorkspaceEntity | null): workspace is LiveWorkspace {
  return workspace !== null && workspace.deletedAt === null && workspace.userId !== null;
}

const PAGE = 500;

/** Per user, not counting deleted ones. */
const MAX_WORKSPACES = 1_000;

/** A workspace as its owner sees it. `encryptionSalt` is null until encryption is set up. */
export type ListedWorkspace = Pick<
  LiveWorkspace,
  'id' | 'userId' | 'name' | 'encryptionSalt' | 'createdAt' | 'updatedAt'
>;

const LISTED = {
  id: true,
  userId: true,
  name: true,
  encryptionSalt: true,
  createdAt: true,
  updatedAt: true,
  deletedAt: true,
} as const;

/** Lists a user's workspaces and creates new ones. */
@Injectable()
export class WorkspacesOfUser {
  constructor(
    @InjectRepository(WorkspaceEntity) private readonly workspaces: Repository<WorkspaceEntity>,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Oldest first, page by page; only the token's workspace if the token is bound to one. */
  async *list({ userId, workspaceId }: Principal): AsyncGenerator<ListedWorkspace[], void> {
    if (workspaceId !== null) {
      yield await this.among(userId, [workspaceId]);
      return;
    }
    yield* pagesById(BEFORE_ALL_IDS, PAGE, (above) => this.page(userId, above, PAGE));
  }

  /** The oldest workspaces, up to the maximum a user can have. */
  oldest(userId: string): Promise<ListedWorkspace[]> {
    return this.page(userId, BEFORE_ALL_IDS, MAX_WORKSPACES);
  }

  /** The newest workspaces first, at most `limit`. */
  newest(userId: string, limit: number): Promise<ListedWorkspace[]> {
    return this.find({ userId }, 'DESC', limit);
  }

  /** The names of the user's live workspaces among `ids`, by id. */
  async names(userId: string, ids: readonly string[]): Promise<Map<string, string>> {
    return new Map((await this.among(userId, ids)).map(({ id, name }) => [id, name]));
  }

  /** @throws Conflict when the user already has 1,000, Unauthorized when the account has just been deleted */
  create(userId: string, name: string): Promise<ListedWorkspace> {
    const createdAt = this.clock.now();
    const workspace = { id: newId(), userId, name, createdAt, updatedAt: createdAt };
    return this.database.sharedTransaction(async (tx) => {
      const workspaces = tx.manager.getRepository(WorkspaceEntity);
      await lockOwnUser(tx, userId);
      if ((await workspaces.countBy({ userId, deletedAt: IsNull() })) >= MAX_WORKSPACES)
        throw new Conflict(`a user can have at most ${MAX_WORKSPACES} workspaces: delete one first`);
      await workspaces.insert(workspace);
      return { ...workspace, encryptionSalt: null };
    });
  }

  private among(userId: string, ids: readonly string[]): Promise<ListedWorkspace[]> {
    return this.find({ userId, id: In([...ids]) }, 'ASC', ids.length);
  }

  private page(userId: string, above: string, limit: number): Promise<ListedWorkspace[]> {
    return this.find({ userId, id: MoreThan(above) }, 'ASC', limit);
  }

  /** Ids are UUIDv7, so they sort by creation. */
  private async find(
    where: FindOptionsWhere<WorkspaceEntity>,
    id: 'ASC' | 'DESC',
    take: number,
  ): Promise<ListedWorkspace[]> {
    const found = { select: LISTED, where: { ...where, deletedAt: IsNull() }, order: { id }, take };
    return (await this.workspaces.find(found)).filter(isLive);
  }
}

const LOCKED =
  'user_id AS "userId", name, verification_hash AS "verificationHash", deleted_at IS NOT NULL AS "isDeleted"';

export const lockStatements = {
  lock: statement('workspaces.lock', `SELECT ${LOCKED} FROM {workspaces} WHERE id = $1 FOR NO KEY UPDATE`, {
    // A shard that moves loses the lock of a SELECT.
    onNodes: `UPDATE {workspaces} SET updated_at = updated_at WHERE id = $1 RETURNING ${LOCKED}`,
  }),
};

export const deletionStatements = {
  /**
   * Marks all live workspaces of a user as deleted and removes their owner; the purge deletes the data. Locks the rows in the order
   * of their ids, so that two such requests cannot deadlock; waits for writes in progress.
   */
  deleteAllOfUser: statement(
    'workspaces.delete_all_of_user',
    `WITH locked AS (
     SELECT id FROM {workspaces} WHERE user_id = $1 AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
   )
   UPDATE {workspaces} w SET deleted_at = $2, user_id = NULL FROM locked WHERE w.id = locked.id
   RETURNING w.id, w.user_id AS "userId"`,
    {
      // Rows cannot be locked on several nodes in an order: the engine finds deadlocks. Without a foreign key to the user, those
      // that were marked before lose their owner here.
      onNodes: `UPDATE {workspaces} SET deleted_at = coalesce(deleted_at, $2), user_id = NULL WHERE user_id = $1
     RETURNING id, user_id AS "userId"`,
    },
  ),
};

export const purgeStatements = {
  /** The oldest of each user first, so that the thousands of one user do not hide the few of another. */
  deleted: statement(
    'workspaces.deleted',
    `SELECT id, "userId" FROM (
     SELECT id, user_id AS "userId", deleted_at, row_number() OVER (PARTITION BY user_id ORDER BY deleted_at) AS place
     FROM {workspaces} WHERE deleted_at IS NOT NULL
   ) d ORDER BY place, deleted_at LIMIT $1`,
  ),

  /** What is inserted for a workspace locks its row first: nothing is, from here to the end of the transaction. */
  lockRow: statement(
    'workspaces.lock_deleted',
    'SELECT id FROM {workspaces} WHERE id = $1 AND deleted_at IS NOT NULL FOR UPDATE',
  ),

  /** Run it after `lockRow`. No foreign key holds these rows. */
  removeRow: statement(
    'workspaces.remove_row',
    `DELETE FROM {workspaces} WHERE id = $1 AND deleted_at IS NOT NULL
     ${['blobs', 'files', 'versions', 'changes'].map((table) => `AND NOT EXISTS (SELECT 1 FROM {${table}} WHERE workspace_id = $1)`).join(' ')}`,
  ),
};
