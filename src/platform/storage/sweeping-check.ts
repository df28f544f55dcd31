import { Injectable } from '@nestjs/common';
import { Database } from '../database/index.js';
import type { Examination, Finding } from '../doctor/index.js';
import { STAGED_FOR_MS, SWEEP_EVERY_MS } from './blob-sweeper.js';
import { BlobUpkeep } from './blob-upkeep.js';
import { doctorStatements } from './blobs.queries.js';

/** Several sweeps have run without effect. */
const OVERDUE_MS = 3 * SWEEP_EVERY_MS;

interface Overdue {
  staged: number;
  dying: number;
  copies: number;
}

/** Checks that what is marked for deletion is deleted in time. */
@Injectable()
export class SweepingCheck {
  constructor(
    private readonly database: Database,
    private readonly upkeep: BlobUpkeep,
  ) {}

  /** With `fix`, sweeps first. */
  async *overdue({ now, fix }: Examination): AsyncGenerator<Finding> {
    const before = await this.count(now);
    if (fix) await this.upkeep.sweep(now);
    const after = fix ? await this.count(now) : before;
    const names = {
      staged: 'dead uploads',
      dying: 'blobs past their grace',
      copies: 'copies left by moves',
    };
    for (const kind of ['staged', 'dying', 'copies'] as const) {
      if (before[kind] === 0) continue;
      yield {
        fault: 'not swept',
        subject: names[kind],
        problem: `${before[kind]} have been waiting for the sweeper too long.`,
        cure: 'Run `blobs sweep`; the log says what could not be deleted, and why.',
        isFixed: after[kind] === 0,
      };
    }
  }

  private async count(now: Date): Promise<Overdue> {
    const due = new Date(now.getTime() - OVERDUE_MS);
    const staged = new Date(due.getTime() - STAGED_FOR_MS);
    const [overdue] = await this.database.run<Overdue>(doctorStatements.overdue, [staged, due]);
    return overdue ?? { staged: 0, dying: 0, copies: 0 };
  }
}
