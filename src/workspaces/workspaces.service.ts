import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { isUUID } from 'class-validator';
import { IsNull, Repository } from 'typeorm';
import { equalSecrets, type Principal } from '../auth/index.js';
import { Clock } from '../platform/clock/index.js';
import { newId } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { Conflict, NotFound } from '../platform/http/index.js';
import { RateLimiter } from '../platform/limits/index.js';
import { WorkspaceEntity } from './workspace.entity.js';
import type { SetupEncryptionRequest } from './workspaces.dto.js';
import { WORKSPACE_DELETED } from './topics.js';
import { WorkspacePurge } from './workspace-purge.js';

const PASSWORD_TRIES_PER_MINUTE = 10;

type Owner = Pick<Principal, 'userId' | 'workspaceId'>;

@Injectable()
export class Workspaces {
  constructor(
    @InjectRepository(WorkspaceEntity) private readonly workspaces: Repository<WorkspaceEntity>,
    private readonly purge: WorkspacePurge,
    private readonly rateLimiter: RateLimiter,
    private readonly clock: Clock,
    private readonly bus: EventBus,
  ) {}

  /** Oldest first; for a token that is bound to a workspace, that one alone. */
  list({ userId, workspaceId }: Principal): Promise<WorkspaceEntity[]> {
    const bound = workspaceId === null ? {} : { id: workspaceId };
    return this.workspaces.find({ where: { ...bound, userId, deletedAt: IsNull() }, order: { id: 'ASC' } });
  }

  /**
   * The id as its row has it, for routes that no guard does this for.
   * @throws NotFound unless it is a workspace of the caller, and the one that the caller's token is bound to
   */
  async requireOwned(id: string, { userId, workspaceId }: Owner): Promise<string> {
    const wanted = id.toLowerCase();
    const isInReach = isUUID(wanted) && (workspaceId === null || workspaceId === wanted);
    const isOwned =
      isInReach && (await this.workspaces.existsBy({ id: wanted, userId, deletedAt: IsNull() }));
    if (!isOwned) throw new NotFound('workspace not found');
    return wanted;
  }

  /** @throws NotFound */
  async get(id: string): Promise<WorkspaceEntity> {
    const workspace = await this.workspaces.findOneBy({ id, deletedAt: IsNull() });
    if (!workspace) throw new NotFound('workspace not found');
    return workspace;
  }

  async create(userId: string, name: string): Promise<WorkspaceEntity> {
    const now = this.clock.now();
    const id = newId();
    await this.workspaces.insert({ id, userId, name, createdAt: now, updatedAt: now });
    return this.workspaces.findOneByOrFail({ id });
  }

  /** Gone for every caller when this resolves; its rows and bytes go in the background. */
  async delete(id: string): Promise<void> {
    const { affected } = await this.workspaces.update(
      { id, deletedAt: IsNull() },
      { deletedAt: this.clock.now() },
    );
    if (!affected) throw new NotFound('workspace not found');
    this.bus.publish({ topic: WORKSPACE_DELETED, key: id });
    this.purge.begin(id);
  }

  /** Once per workspace: other salts later would lock the owner out of what is stored. @throws Conflict */
  async setUpEncryption(id: string, request: SetupEncryptionRequest): Promise<void> {
    const { encryptionSalt, verificationHash, verificationSalt } = request;
    const { affected } = await this.workspaces.update(
      { id, encryptionSalt: IsNull(), deletedAt: IsNull() },
      { encryptionSalt, verificationHash, verificationSalt, updatedAt: this.clock.now() },
    );
    if (affected) return;
    await this.get(id);
    throw new Conflict('encryption is already set up');
  }

  /** Whether the hash is the workspace's; false before set-up. @throws TooManyRequests after ten tries a minute */
  async verifyPassword(id: string, verificationHash: string): Promise<boolean> {
    await this.rateLimiter.hit(`verify-password:${id}`, PASSWORD_TRIES_PER_MINUTE);
    const workspace = await this.get(id);
    return workspace.verificationHash !== null && equalSecrets(workspace.verificationHash, verificationHash);
  }
}
