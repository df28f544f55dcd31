import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { BEFORE_ALL_IDS, Database, sessionWithoutTimeouts } from '../../platform/database/index.js';
import type { Examination, Finding } from '../../platform/doctor.js';
import { liveWorkspaceIds, WorkspaceEntity } from '../workspaces/index.js';
import { rowsStatements, usageStatements } from './files.queries.js';

/** Rows of one kind that refer to nothing, or differ from the row whose value they repeat. */
interface Fault {
  readonly kind: Kind;
  readonly rows: number;
  /** The id or cursor of one of these rows. */
  readonly example: string;
}

const DANGLING = {
  'heads without version': 'files have no version of their number',
  'versions without file': 'versions belong to a file that does not exist',
  'versions without blob': 'versions refer to a blob that does not exist',
  'changes without file': 'changes belong to a file that does not exist',
} as const;

const REPEATED = {
  'heads that differ': 'files differ from their newest version in blob, hash or size',
  'paths that differ': 'changes differ from their file in the path',
} as const;

type Kind = keyof typeof DANGLING | keyof typeof REPEATED;

/**
 * Checks what no foreign key enforces: versions and changes have their file, versions their blob, and all of them a workspace.
 * Also checks values that are repeated so that reads need no join: the head of a file and the path of a change.
 */
@Injectable()
export class RowsCheck {
  constructor(
    private readonly database: Database,
    @InjectRepository(WorkspaceEntity) private readonly workspaces: Repository<WorkspaceEntity>,
  ) {}

  /** Reads the workspaces one by one, without a time limit and without locks. With `fix`, it corrects repeated values. */
  async *examine({ fix }: Examination): AsyncGenerator<Finding> {
    const session = await sessionWithoutTimeouts(this.database, 'doctor');
    try {
      for (const row of await session.run<{ table: string; workspaceId: string }>(
        rowsStatements.withoutWorkspace,
        [],
      ))
        yield withoutItsWorkspace(row.table, row.workspaceId);
      for await (const id of liveWorkspaceIds(this.workspaces)) {
        const faults = await session.run<Fault>(rowsStatements.faults, [id]);
        if (fix && faults.some(({ kind }) => kind in REPEATED)) {
          await session.run(rowsStatements.correctPaths, [id]);
          await session.run(rowsStatements.correctHeads, [id]);
        }
        for (const fault of faults) yield findingOfRows(id, fault, fix);
      }
    } finally {
      await session.end();
    }
  }
}

const withoutItsWorkspace = (table: string, workspaceId: string): Finding => ({
  fault: 'dangling rows',
  subject: `${table} of workspace ${workspaceId}`,
  problem: 'The workspace of these rows does not exist.',
  cure: 'Restore the database from a backup; if nobody misses the workspace, delete these rows.',
  isFixed: false,
});

function findingOfRows(workspaceId: string, { kind, rows, example }: Fault, fix: boolean): Finding {
  const subject = `workspace ${workspaceId}`;
  if (kind in REPEATED)
    return {
      fault: 'repeated value differs',
      subject,
      problem: `${rows} ${REPEATED[kind as keyof typeof REPEATED]}, such as ${example}.`,
      cure: 'Run `doctor --fix` to repeat the value again.',
      isFixed: fix,
    };
  return {
    fault: 'dangling rows',
    subject,
    problem: `${rows} ${DANGLING[kind as keyof typeof DANGLING]}, such as ${example}.`,
    cure: 'Restore the workspace from a backup; what these rows refer to is lost.',
    isFixed: false,
  };
}

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
          yield findingOfUsage(count, fix);
        }
        above = workspaceId;
      }
    } finally {
      await session.end();
    }
  }
}

function findingOfUsage({ workspaceId, usedBytes, actualBytes }: Count, isFixed: boolean): Finding {
  return {
    fault: 'usage drift',
    subject: `workspace ${workspaceId}`,
    problem: `The usage counter is ${usedBytes} bytes; the kept versions take ${actualBytes} bytes.`,
    cure: 'Run `doctor --fix` to correct the counter.',
    isFixed,
  };
}
