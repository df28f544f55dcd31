import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { lockLog } from '../files/index.js';
import { FreeSpace } from '../storage/index.js';
import { Clock } from '../platform/clock/index.js';
import { BEFORE_ALL_IDS, Database, newId, type Tx } from '../platform/database/index.js';
import { Conflict, NotFound } from '../platform/http/index.js';
import { checkpointStatements } from './checkpoints.queries.js';

/** A label takes up to 8 KiB. */
const PAGE = 100;

/** Of one workspace. */
const MAX_CHECKPOINTS = 10_000;

/** Before the newest checkpoint, in the order of the list. */
const TOP = { cursor: Number.MAX_SAFE_INTEGER, exactTime: 'infinity', id: BEFORE_ALL_IDS };

export type CheckpointKind = 'manual' | 'auto';

export interface Checkpoint {
  readonly id: string;
  readonly encryptedLabel: string;
  readonly kind: CheckpointKind;
  /** Head of the change log when it was made. */
  readonly cursor: number;
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  readonly createdAt: string;
}

interface Listed extends Checkpoint {
  /** When it was made, to the microsecond. */
  readonly exactTime: string;
}

/** Named markers into the change log. */
@Injectable()
export class Checkpoints {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly space: FreeSpace,
  ) {}

  /**
   * Marks the head, read under the log's lock: what is pinned is settled before the next write or thinning.
   * Labels count to no quota, so the disk's reserve holds them as it holds uploads.
   * @throws NoRoom, Conflict when the workspace has 10,000 already, NotFound
   */
  create(workspaceId: string, encryptedLabel: string, kind: CheckpointKind): Promise<Checkpoint> {
    const insert = async (tx: Tx): Promise<Checkpoint> => {
      const { headCursor } = await lockLog(tx, workspaceId);
      const row = [workspaceId, newId(), encryptedLabel, kind, headCursor, this.clock.now()];
      const values = [...row, MAX_CHECKPOINTS];
      const [checkpoint] = await tx.run<Checkpoint>(checkpointStatements.create, values);
      if (!checkpoint)
        throw new Conflict(`a workspace has ${MAX_CHECKPOINTS} checkpoints at most: delete one first`);
      return checkpoint;
    };
    return this.space.during(() => this.database.transaction(insert));
  }

  /**
   * Highest cursor first, of equal ones the newest first, page by page. Each page is true when it is read, not all of them
   * at one instant. @throws NotFound, also in the middle
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

  /** Removes the marker alone. Under the log's lock, like every change of what is pinned. @throws NotFound */
  async delete(workspaceId: string, id: string): Promise<void> {
    if (!isUUID(id)) throw new NotFound('checkpoint not found');
    await this.database.transaction(async (tx) => {
      await lockLog(tx, workspaceId);
      const deleted = await tx.run(checkpointStatements.delete, [workspaceId, id]);
      if (deleted.length === 0) throw new NotFound('checkpoint not found');
    });
  }
}

function checkpointOf({ id, encryptedLabel, kind, cursor, createdAt }: Listed): Checkpoint {
  return { id, encryptedLabel, kind, cursor, createdAt };
}
