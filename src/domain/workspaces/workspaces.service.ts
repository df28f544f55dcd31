import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Transform } from 'class-transformer';
import { isUUID, Matches } from 'class-validator';
import { IsNull, MoreThan, Repository } from 'typeorm';
import { type AccessRequirements, type Principal, WorkspaceAccess } from '../../access/index.js';
import { Clock } from '../../platform/clock.js';
import { BEFORE_ALL_IDS, pagesById, type WorkspaceTx } from '../../platform/database/index.js';
import { asName, BadRequest, Conflict, IsName, NAME_RULE, NotFound } from '../../platform/http/index.js';
import { RateLimiter } from '../../platform/limits/index.js';
import type { Acting } from '../auth/audit/index.js';
import { equalSecrets } from '../auth/index.js';
import { WorkspaceDeletion } from './workspace-purge.js';
import { isLive, type LiveWorkspace, WorkspaceEntity } from './workspace.entity.js';
import { lockStatements } from './workspaces.queries.js';

const HEX_32_BYTES = /^[0-9a-f]{64}$/i;

const lowerCase = Transform(({ value }: { value: unknown }) =>
  typeof value === 'string' ? value.toLowerCase() : value,
);

export class CreateWorkspaceRequest {
  @IsName()
  name: string;
}

export class SetupEncryptionRequest {
  @lowerCase
  @Matches(HEX_32_BYTES, { message: 'encryptionSalt must be 64 hex characters' })
  encryptionSalt: string;

  @lowerCase
  @Matches(HEX_32_BYTES, { message: 'verificationHash must be 64 hex characters' })
  verificationHash: string;

  @lowerCase
  @Matches(/^(?:[0-9a-f]{2}){16,64}$/i, { message: 'verificationSalt must be 32 to 128 hex characters' })
  verificationSalt: string;
}

export class VerifyPasswordRequest {
  @lowerCase
  @Matches(HEX_32_BYTES, { message: 'verificationHash must be 64 hex characters' })
  verificationHash: string;
}

type Changed = Partial<Record<'name' | 'encryptionSalt' | 'verificationHash' | 'verificationSalt', string>>;

const PASSWORD_TRIES_PER_MINUTE = 10;

const OWNERSHIP_ALONE: AccessRequirements = { user: false, subscription: false };

type Owner = Pick<Principal, 'userId' | 'workspaceId'>;

@Injectable()
export class Workspaces {
  constructor(
    @InjectRepository(WorkspaceEntity) private readonly workspaces: Repository<WorkspaceEntity>,
    private readonly workspaceAccess: WorkspaceAccess,
    private readonly deletion: WorkspaceDeletion,
    private readonly rateLimiter: RateLimiter,
    private readonly clock: Clock,
  ) {}

  /**
   * Checks ownership for routes without a guard that does. Returns the id as stored.
   * @throws NotFound unless it is a workspace of the caller, and the one that the caller's token is bound to
   */
  async requireOwned(id: string, { userId, workspaceId }: Owner): Promise<string> {
    const wanted = id.toLowerCase();
    const isInReach = isUUID(wanted) && (workspaceId === null || workspaceId === wanted);
    if (!isInReach || !(await this.workspaceAccess.check(userId, OWNERSHIP_ALONE, wanted)))
      throw new NotFound('workspace not found');
    return wanted;
  }

  /** @throws NotFound */
  async get(id: string): Promise<LiveWorkspace> {
    const workspace = await this.workspaces.findOneBy({ id, deletedAt: IsNull() });
    if (!isLive(workspace)) throw new NotFound('workspace not found');
    return workspace;
  }

  /** Changes the display name. The files, their encryption and all apps stay as they are. @throws BadRequest, NotFound */
  async rename(id: string, name: string): Promise<void> {
    const stored = asName(name);
    if (stored === undefined) throw new BadRequest(`name ${NAME_RULE}`);
    const wasThere = await this.change(id, { name: stored });
    if (!wasThere) throw new NotFound('workspace not found');
  }

  /** When this resolves, the workspace is gone for every caller; its data is purged in the background. @throws NotFound */
  async delete(id: string, by: Acting): Promise<void> {
    const wasThere = await this.deletion.delete(id, this.clock.now(), by);
    if (!wasThere) throw new NotFound('workspace not found');
  }

  /** Only once per workspace: a later change of the salts would lock the owner out of the stored data. @throws Conflict */
  async setUpEncryption(id: string, request: SetupEncryptionRequest): Promise<void> {
    const { encryptionSalt, verificationHash, verificationSalt } = request;
    const isSet = await this.change(id, { encryptionSalt, verificationHash, verificationSalt });
    if (isSet) return;
    await this.get(id);
    throw new Conflict('encryption is already set up');
  }

  /** Returns whether the workspace existed and, if encryption is to be set up, had none yet. */
  private async change(id: string, fields: Changed): Promise<boolean> {
    const where = {
      id,
      deletedAt: IsNull(),
      ...(fields.encryptionSalt !== undefined && { encryptionSalt: IsNull() }),
    };
    const { affected } = await this.workspaces.update(where, { ...fields, updatedAt: this.clock.now() });
    return affected === 1;
  }

  /** Whether the hash matches the workspace's; false before set-up. @throws TooManyRequests after ten attempts a minute */
  async verifyPassword(id: string, verificationHash: string): Promise<boolean> {
    await this.rateLimiter.hit(`verify-password:${id}`, PASSWORD_TRIES_PER_MINUTE);
    const workspace = await this.get(id);
    return workspace.verificationHash !== null && equalSecrets(workspace.verificationHash, verificationHash);
  }
}

const PAGE = 1_000;

/** Yields the id of every workspace that is not deleted, in ascending order and bounded memory. */
export async function* liveWorkspaceIds(
  workspaces: Repository<WorkspaceEntity>,
): AsyncGenerator<string, void> {
  const page = (above: string): Promise<Pick<WorkspaceEntity, 'id'>[]> =>
    workspaces.find({
      select: { id: true },
      where: { id: MoreThan(above), deletedAt: IsNull() },
      order: { id: 'ASC' },
      take: PAGE,
    });
  for await (const rows of pagesById(BEFORE_ALL_IDS, PAGE, page)) for (const { id } of rows) yield id;
}

/** The row of a workspace, deleted or not. A deleted one keeps its row until it is empty. */
export interface LockedWorkspace extends Readonly<
  Pick<WorkspaceEntity, 'userId' | 'name' | 'verificationHash'>
> {
  readonly isDeleted: boolean;
}

/** Locks the row of a workspace until the transaction ends, as writers of its log do. Undefined when there is no row. */
export async function lockWorkspaceRow(tx: WorkspaceTx, id: string): Promise<LockedWorkspace | undefined> {
  const [row] = await tx.run<LockedWorkspace>(lockStatements.lock, [id]);
  return row;
}
