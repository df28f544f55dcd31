import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, In, PrimaryColumn, type Repository } from 'typeorm';
import {
  BEFORE_ALL_IDS,
  Database,
  type Parameter,
  type Part,
  type Statement,
} from '../../platform/database/index.js';
import { WorkspacePurge } from '../workspaces/index.js';
import { type DueTimes, FILES, VERSIONS } from './history-walk.js';
import { RULE } from './retention-rule.js';
import { queueStatements } from './retention.queries.js';

const WORKSPACES = 2_000;
const CHANGES = 5_000;

/** Files with pinned versions are examined again after this time, in case a deletion of a checkpoint was not noted. */
const PINNED_FOR_MS = 30 * 24 * 60 * 60_000;

/** A file in the queue, as read. */
export interface DueFile {
  readonly fileId: string;
  /** Rises whenever the file becomes due. */
  readonly revision: number;
  readonly dueAt: string;
}

/** The findings of a run about files. */
export interface Outcome {
  readonly due: DueTimes;
  /** Files that still have superseded versions. */
  readonly pinned: ReadonlySet<string>;
}

interface Progress {
  readonly headCursor: number;
  readonly cursor: number;
  readonly hasUnpinned: boolean;
}

/**
 * The files that have versions to thin: files with a new version since the last run, found in the log; files of which a version
 * moves into another bucket, at a time that the last run computed; and files that had pinned versions when a checkpoint was
 * deleted. A file leaves the queue only when a run has examined it and it has not become due again meanwhile, so a run that is
 * killed, repeated or concurrent with another one loses nothing.
 */
@Injectable()
export class RetentionQueue {
  constructor(private readonly database: Database) {}

  /** Yields the workspaces that need work. */
  async *workspaces(asOf: Date): AsyncGenerator<string, void> {
    for (const part of await this.database.parts()) yield* workspacesIn(part, asOf);
  }

  /**
   * Brings the queue of a workspace up to date.
   * @param furthest the latest reference time that a concurrent run may have
   */
  async refresh(workspaceId: string, furthest: Date): Promise<void> {
    const [progress] = await this.database.run<Progress>(queueStatements.progress, [workspaceId, RULE]);
    if (!progress) return;
    const { cursor, headCursor, hasUnpinned } = progress;
    if (cursor === 0) {
      await this.addPages(queueStatements.addAll, workspaceId, BEFORE_ALL_IDS);
      await this.database.run(queueStatements.markAll, [workspaceId, headCursor, RULE]);
    } else if (cursor !== headCursor) await this.addPages(queueStatements.addChanged, workspaceId, cursor);
    if (hasUnpinned) await this.database.run(queueStatements.addUnpinned, [workspaceId, furthest]);
  }

  /** Yields the due files of a workspace in pages. */
  async *due(workspaceId: string, asOf: Date): AsyncGenerator<DueFile[], void> {
    let last: DueFile | undefined = { fileId: BEFORE_ALL_IDS, revision: 0, dueAt: '-infinity' };
    while (last) {
      const values = [workspaceId, asOf, last.dueAt, last.fileId, FILES, VERSIONS];
      const page: DueFile[] = await this.database.run(queueStatements.dueFiles, values);
      if (page.length > 0) yield page;
      last = page.at(-1);
    }
  }

  /** Returns the files of the given versions, as far as these still exist. */
  async filesOf(workspaceId: string, versionIds: string): Promise<string[]> {
    const rows = await this.database.run<{ fileId: string }>(queueStatements.filesOf, [
      workspaceId,
      versionIds,
    ]);
    return rows.map(({ fileId }) => fileId);
  }

  /** Records the outcome for files as of a time, except for files that have become due again meanwhile. */
  async settle(
    workspaceId: string,
    files: readonly DueFile[],
    { due, pinned }: Outcome,
    asOf: Date,
  ): Promise<void> {
    await this.database.run(queueStatements.settle, [
      workspaceId,
      files.map(({ fileId }) => fileId),
      files.map(({ revision }) => revision),
      files.map(({ fileId }) => due.get(fileId) ?? null),
      files.map(({ fileId }) => String(pinned.has(fileId))),
      new Date(asOf.getTime() + PINNED_FOR_MS),
    ]);
  }

  /** Queues files page by page, from an id or a cursor on. */
  private async addPages(query: Statement, workspaceId: string, from: string | number): Promise<void> {
    for (let above: string | number | undefined = from; above !== undefined;) {
      const values: Parameter[] = [workspaceId, above, CHANGES];
      const [page]: Page[] = await this.database.workspaceTransaction(workspaceId, (tx) =>
        tx.run<Page>(query, values),
      );
      above = page?.hasMore ? page.last : undefined;
    }
  }
}

/** The workspaces of a page that need work, and the last workspace of the page; null when the page is empty. */
interface WorkspacePage {
  readonly ids: readonly string[];
  readonly last: string | null;
}

interface Page {
  readonly last: string | number;
  readonly hasMore: boolean;
}

async function* workspacesIn(part: Part, asOf: Date): AsyncGenerator<string, void> {
  for (let above: string | null = BEFORE_ALL_IDS; above !== null;) {
    const values: Parameter[] = [above, WORKSPACES, asOf, RULE];
    const [page]: (WorkspacePage | undefined)[] = await part.run(queueStatements.dueWorkspaces, values);
    yield* page?.ids ?? [];
    above = page?.last ?? null;
  }
}

/** A file with versions to thin, now or later. */
@Entity('retention_queue')
export class QueuedFile {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @PrimaryColumn('uuid')
  fileId: string;

  /** May be `-infinity`. */
  @Column('timestamptz')
  dueAt: Date;

  @Column('boolean', { default: false })
  isPinned: boolean;

  /** Rises whenever the file becomes due. */
  @Column('bigint', { default: 0 })
  revision: number;
}

const BATCH = 1_000;

/** Removes the queue of a deleted workspace in bounded batches. */
@Injectable()
export class QueuePurge {
  constructor(@InjectRepository(QueuedFile) queue: Repository<QueuedFile>, purge: WorkspacePurge) {
    purge.addStep(async (workspaceId) => {
      const some = await queue.find({ select: { fileId: true }, where: { workspaceId }, take: BATCH });
      if (some.length === 0) return 0;
      const { affected } = await queue.delete({ workspaceId, fileId: In(some.map(({ fileId }) => fileId)) });
      return affected ?? 0;
    });
  }
}
