import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { isUUID } from 'class-validator';
import { Column, Entity, In, PrimaryColumn, Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { BEFORE_ALL_IDS, Database, newId, type WorkspaceTx } from '../../platform/database/index.js';
import { Conflict, NotFound } from '../../platform/http/index.js';
import { FreeSpace } from '../../platform/storage/index.js';
import { lockLog } from '../files/index.js';
import { checkpointStatements } from './checkpoints.queries.js';

export type CheckpointKind = 'manual' | 'auto';

/** A named mark in the change log. */
@Entity('checkpoints')
export class StoredCheckpoint {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  encryptedLabel: string;

  @Column('text')
  kind: CheckpointKind;

  /** Head of the change log when the checkpoint was created. */
  @Column('bigint')
  cursor: number;

  @Column('timestamptz')
  createdAt: Date;
}

/** Kept small because a label takes up to 8 KiB. */
const PAGE = 100;

/** Per workspace. */
const MAX_CHECKPOINTS = 10_000;

const PURGE_BATCH = 1_000;

/** Sorts before the newest checkpoint in the list. */
const TOP = { cursor: Number.MAX_SAFE_INTEGER, exactTime: 'infinity', id: BEFORE_ALL_IDS };

export interface Checkpoint extends Readonly<
  Pick<StoredCheckpoint, 'id' | 'encryptedLabel' | 'kind' | 'cursor'>
> {
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  readonly createdAt: string;
}

interface Listed extends Checkpoint {
  /** Creation time with microseconds. */
  readonly exactTime: string;
}

/** Named markers into the change log. */
@Injectable()
export class Checkpoints {
  constructor(
    @InjectRepository(StoredCheckpoint) private readonly checkpoints: Repository<StoredCheckpoint>,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly space: FreeSpace,
  ) {}

  /**
   * Marks the head, read under the log's lock, so the pinned versions are fixed before the next write or thinning.
   * Labels count towards no quota, so creation is refused like an upload when the disk is down to its reserve.
   * @throws NoRoom, Conflict when the workspace has 10,000 checkpoints already, NotFound
   */
  create(workspaceId: string, encryptedLabel: string, kind: CheckpointKind): Promise<Checkpoint> {
    const insert = async (tx: WorkspaceTx): Promise<Checkpoint> => {
      const { headCursor } = await lockLog(tx, workspaceId);
      const row = [workspaceId, newId(), encryptedLabel, kind, headCursor, this.clock.now()];
      const values = [...row, MAX_CHECKPOINTS];
      const [checkpoint] = await tx.run<Checkpoint>(checkpointStatements.create, values);
      if (!checkpoint)
        throw new Conflict(`a workspace can have at most ${MAX_CHECKPOINTS} checkpoints: delete one first`);
      return checkpoint;
    };
    return this.space.during(() => this.database.workspaceTransaction(workspaceId, insert));
  }

  /**
   * Lists by cursor, highest first, and newest first among equal cursors, page by page. Each page is consistent, the
   * whole list is not. @throws NotFound, also mid-stream
   */
  async *list(workspaceId: string): AsyncGenerator<Checkpoint[], void> {
    for (let after: typeof TOP | undefined = TOP; after !== undefined;) {
      const values = [workspaceId, after.cursor, after.exactTime, after.id, PAGE];
      const rows: (Listed | { id: null })[] = await this.database.run(checkpointStatements.page, values);
      if (rows.length === 0) throw new NotFound('workspace not found');
      const page = rows.filter((row) => row.id !== null);
      yield page.map(checkpointOf);
      after = page[PAGE - 1];
    }
  }

  /** Removes only the marker. Runs under the log's lock, like every change to what is pinned. @throws NotFound */
  async delete(workspaceId: string, id: string): Promise<void> {
    if (!isUUID(id)) throw new NotFound('checkpoint not found');
    await this.database.workspaceTransaction(workspaceId, async (tx) => {
      await lockLog(tx, workspaceId);
      const deleted = await tx.run(checkpointStatements.delete, [workspaceId, id]);
      if (deleted.length === 0) throw new NotFound('checkpoint not found');
    });
  }

  /** Deletes a batch of a deleted workspace's checkpoints; returns how many. */
  async purge(workspaceId: string): Promise<number> {
    const batch = await this.checkpoints.find({
      select: { id: true },
      where: { workspaceId },
      take: PURGE_BATCH,
    });
    if (batch.length > 0) await this.checkpoints.delete({ workspaceId, id: In(batch.map(({ id }) => id)) });
    return batch.length;
  }
}

function checkpointOf({ id, encryptedLabel, kind, cursor, createdAt }: Listed): Checkpoint {
  return { id, encryptedLabel, kind, cursor, createdAt };
}
