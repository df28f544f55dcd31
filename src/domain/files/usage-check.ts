import { Injectable } from '@nestjs/common';
import { BEFORE_ALL_IDS, Database, sessionWithoutTimeouts } from '../../platform/database/index.js';
import type { Examination, Finding } from '../../platform/doctor/index.js';
import { usageStatements } from './files.queries.js';

/** The usage counter of a workspace, and the value it should have. */
interface Count {
  readonly workspaceId: string;
  readonly usedBytes: number;
  readonly actualBytes: number;
}

/** Checks that each workspace's usage counter equals the bytes of its kept versions. */
@Injectable()
export class UsageCheck {
  constructor(private readonly database: Database) {}

  /** Reads the workspaces one by one, without a time limit and without locks. With `fix`, it adds the difference. */
  async *drift({ fix }: Examination): AsyncGenerator<Finding> {
    const session = await sessionWithoutTimeouts(this.database, 'doctor');
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
    problem: `The usage counter is ${usedBytes} bytes; the kept versions take ${actualBytes} bytes.`,
    cure: 'Run `doctor --fix` to correct the counter.',
    isFixed,
  };
}
