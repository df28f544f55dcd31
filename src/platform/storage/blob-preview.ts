import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Clock } from '../clock/index.js';
import { Database, type Parameter, type Statement } from '../database/index.js';
import type { BlobLocation } from './blob-store.js';
import { STAGED_FOR_MS } from './blob-sweeper.js';
import type { Swept } from './blob-upkeep.js';
import { moveStatements, orphanedCopyStatements, sweepStatements } from './blobs.queries.js';

/** Counts what a sweep or a move would do, without locks or changes. */
@Injectable()
export class BlobPreview {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** What a sweep would delete at that time. Excludes unfinished uploads in an S3 store. */
  async sweep(now: Date): Promise<Pick<Swept, 'blobs' | 'copies'>> {
    const stagedBefore = new Date(now.getTime() - STAGED_FOR_MS);
    const blobs = await this.count(sweepStatements.countDue, [now, this.clock.now(), stagedBefore]);
    const copies = await this.count(orphanedCopyStatements.countDue, [now, this.clock.now()]);
    return { blobs, copies };
  }

  /** How many blobs a move to that location would move. */
  move(to: BlobLocation): Promise<number> {
    return this.count(moveStatements.countDue, [to, this.configuration.inlineBlobBytes]);
  }

  private async count(query: Statement, values: Parameter[]): Promise<number> {
    const [row] = await this.database.run<{ due: number }>(query, values);
    return row?.due ?? 0;
  }
}
