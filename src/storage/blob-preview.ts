import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, type Parameter, type Statement } from '../platform/database/index.js';
import { BlobReferences } from './blob-references.js';
import type { BlobLocation } from './blob-store.js';
import { STAGED_FOR_MS } from './blob-sweeper.js';
import type { Swept } from './blob-upkeep.js';
import { orphanedCopyStatements } from './orphaned-copies.queries.js';
import { moveStatements } from './move.queries.js';
import { sweepStatements } from './sweep.queries.js';

/** What a sweep or a move would do, counted without a lock; nothing is touched. */
@Injectable()
export class BlobPreview {
  private readonly countDue: Statement;

  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly clock: Clock,
    references: BlobReferences,
  ) {
    this.countDue = sweepStatements(references).countDue;
  }

  /** What a sweep would remove at that time. Unfinished uploads in an S3 store are not looked for. */
  async sweep(now: Date): Promise<Pick<Swept, 'blobs' | 'copies'>> {
    const stagedBefore = new Date(now.getTime() - STAGED_FOR_MS);
    const blobs = await this.count(this.countDue, [now, this.clock.now(), stagedBefore]);
    const copies = await this.count(orphanedCopyStatements.countDue, [now, this.clock.now()]);
    return { blobs, copies };
  }

  /** How many blobs a move would take there. */
  move(to: BlobLocation): Promise<number> {
    return this.count(moveStatements.countDue, [to, this.configuration.inlineBlobBytes]);
  }

  private async count(query: Statement, values: Parameter[]): Promise<number> {
    const [row] = await this.database.run<{ due: number }>(query, values);
    return row?.due ?? 0;
  }
}
