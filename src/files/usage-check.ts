import { Injectable } from '@nestjs/common';
import { BEFORE_ALL_IDS, Database } from '../platform/database/index.js';
import type { Examination, Finding } from '../platform/doctor/index.js';
import { usageStatements } from './usage.queries.js';

const WORKSPACES_AT_ONCE = 20;

/** What a workspace counts, and what it has. */
interface Count {
  readonly workspaceId: string;
  readonly usedBytes: number;
  readonly actualBytes: number;
}

/** Looks whether each workspace counts the bytes of its kept versions. */
@Injectable()
export class UsageCheck {
  constructor(private readonly database: Database) {}

  /** With `fix` it counts anew, under the lock that uploads take: they wait for one workspace's count at most. */
  async *drift({ fix }: Examination): AsyncGenerator<Finding> {
    for (let after: string | undefined = BEFORE_ALL_IDS; after !== undefined;) {
      const page: Count[] = await this.database.run(usageStatements.page, [after, WORKSPACES_AT_ONCE]);
      for (const count of page.filter(({ usedBytes, actualBytes }) => usedBytes !== actualBytes)) {
        if (fix) await this.recount(count.workspaceId);
        yield finding(count, fix);
      }
      after = page.at(-1)?.workspaceId;
    }
  }

  private async recount(workspaceId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.run(usageStatements.lock, [workspaceId]);
      await tx.run(usageStatements.recount, [workspaceId]);
    });
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
