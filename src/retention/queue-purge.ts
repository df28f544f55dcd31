import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import { WorkspacePurge } from '../workspaces/index.js';
import { queueStatements } from './retention-queue.queries.js';

const BATCH = 1_000;

/** Removes the queue of a deleted workspace in bounded batches. */
@Injectable()
export class QueuePurge {
  constructor(database: Database, purge: WorkspacePurge) {
    purge.addStep(
      async (workspaceId) => (await database.run(queueStatements.purge, [workspaceId, BATCH])).length,
    );
  }
}
