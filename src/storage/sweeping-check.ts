import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import type { Examination, Finding } from '../platform/doctor/index.js';
import { STAGED_FOR_MS, SWEEP_EVERY_MS } from './blob-sweeper.js';
import { BlobUpkeep } from './blob-upkeep.js';
import { doctorStatements } from './doctor.queries.js';

/** Several sweeps have come by without effect. */
const OVERDUE_MS = 3 * SWEEP_EVERY_MS;

interface Overdue {
  staged: number;
  dying: number;
  copies: number;
}

/** Looks whether what is to be removed is removed in time. */
@Injectable()
export class SweepingCheck {
  constructor(
    private readonly database: Database,
    private readonly upkeep: BlobUpkeep,
  ) {}

  /** With `fix` it sweeps first. */
  async *overdue({ now, fix }: Examination): AsyncGenerator<Finding> {
    const before = await this.count(now);
    if (fix) await this.upkeep.sweep(now);
    const after = fix ? await this.count(now) : before;
    const names = {
      staged: 'uploads that died',
      dying: 'blobs past their grace',
      copies: 'copies left by moves',
    };
    for (const kind of ['staged', 'dying', 'copies'] as const) {
      if (before[kind] === 0) continue;
      yield {
        fault: 'not swept',
        subject: names[kind],
        problem: `${before[kind]} wait for the sweeper longer than they should.`,
        cure: 'Run `blobs sweep`; what stays is told in the log, with the reason.',
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
