import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type FindOptionsWhere, In, IsNull, MoreThan, Repository } from 'typeorm';
import type { Principal } from '../../access/index.js';
import { Clock } from '../../platform/clock.js';
import { BEFORE_ALL_IDS, Database, newId, pagesById } from '../../platform/database/index.js';
import { Conflict } from '../../platform/http/index.js';
import { lockOwnUser } from '../auth/index.js';
import { isLive, type LiveWorkspace, WorkspaceEntity } from './workspace.entity.js';

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
    if (workspaceId !== null) yield await this.among(userId, [workspaceId]);
    else yield* pagesById(BEFORE_ALL_IDS, PAGE, (above) => this.page(userId, above, PAGE));
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
