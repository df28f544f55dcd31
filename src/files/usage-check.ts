import { Injectable } from '@nestjs/common';
import { BEFORE_ALL_IDS, Database } from '../platform/database/index.js';
import type { Examination, Finding } from '../platform/doctor/index.js';
import { usageStatements } from './document-quota.js';

/** The count of a workspace, and the sum that it should have. */
interface Count {
  readonly workspaceId: string;
  readonly usedBytes: number;
  readonly actualBytes: number;
}

/** Looks whether each workspace counts the bytes of its kept versions. */
@Injectable()
export class UsageCheck {
  constructor(private readonly database: Database) {}

  /** Reads one workspace after the other, however long that takes, and locks none: with `fix` it adds what is missing. */
  async *drift({ fix }: Examination): AsyncGenerator<Finding> {
    const session = await this.database.unhurried('doctor');
    try {
      if (fix) await session.run(usageStatements.correctAlone, []);
      for (let above = BEFORE_ALL_IDS; ;) {
        const [count] = await session.run<Count>(usageStatements.next, [above]);
        if (!count) return;
        const { workspaceId, usedBytes, actualBytes } = count;
        if (usedBytes !== actualBytes) {
          if (fix) await session.run(usageStatements.correct, [workspaceId, actualBytes - usedBytes]);
          yield finding(count, fix);
        }
        above = workspaceId;
      }
    } finally {
      await session.end();
    }
  }
}

function finding({ workspaceId, usedBytes, actualBytes }: Count, isFixed: boolean): Finding {
  return {
    fault: 'usage drift',
    subject: `workspace ${workspaceId}`,
    problem: `It counts ${usedBytes} bytes of kept versions and has ${actualBytes}.`,
    cure: 'Run `doctor --fix`: it counts anew.',
    isFixed,
  };
}
