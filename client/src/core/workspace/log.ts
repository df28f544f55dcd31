import { dataOf, type Session } from '../api/index.js';
import { ApiError, InvalidAnswer } from '../http/index.js';
import { checkCursor, checkFile, isEncryptedPath, type RemoteFile } from './checks.js';
import { NeedsBootstrap } from './errors.js';

export interface RemoteChange extends RemoteFile {
  readonly action: 'upsert' | 'delete';
  readonly changedByDevice: string | null;
}

export interface PulledPage {
  /** Oldest first. */
  readonly changes: readonly RemoteChange[];
  /** Store it once the changes are stored. */
  readonly cursor: number;
  readonly hasMore: boolean;
}

export interface SnapshotPage {
  readonly files: readonly RemoteFile[];
  /** The cursor of the first page, on every page: changes during the walk come with the first pull from it. */
  readonly cursor: number;
}

export interface Deletion {
  readonly encryptedPath: string;
  /** Hash of the version that the device has seen. */
  readonly contentHash?: string;
}

/** A file that was not deleted, because another device has changed it since. */
export interface PushConflict {
  readonly encryptedPath: string;
  readonly serverVersion: number;
  readonly serverContentHash: string;
}

const PAGE = 1_000;

/** The change log of a workspace, for one device. */
export class Log {
  constructor(
    private readonly session: Session,
    private readonly id: string,
    private readonly deviceId: string,
  ) {}

  /** The head, and the number of files. */
  async status(signal?: AbortSignal): Promise<{ cursor: number; fileCount: number }> {
    const { id } = this;
    const path = '/api/v1/workspaces/{id}/sync/status';
    const status = await dataOf(
      this.session.api.GET(path, { params: { path: { id } }, signal: signal ?? null }),
    );
    checkCursor(status.cursor);
    return status;
  }

  /** The changes after a cursor. @throws NeedsBootstrap when the log does not, or no longer, have them */
  async pull(cursor: number, limit = PAGE, signal?: AbortSignal): Promise<PulledPage> {
    const { id, deviceId } = this;
    const pulling = this.session.api.POST('/api/v1/workspaces/{id}/sync/pull', {
      params: { path: { id } },
      body: { deviceId, cursor, limit },
      signal: signal ?? null,
    });
    const page = await dataOf(pulling).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 409 && error.fields['needsBootstrap'] === true)
        throw new NeedsBootstrap(error.error, { cause: error });
      throw error;
    });
    checkCursor(page.cursor, cursor + (page.hasMore ? 1 : 0)); // a page without progress would repeat forever
    page.changes.forEach(checkChange);
    return page;
  }

  /** All changes after a cursor, page by page. @throws NeedsBootstrap */
  async *changes(cursor: number, signal?: AbortSignal): AsyncGenerator<PulledPage, void> {
    for (let from = cursor, hasMore = true; hasMore;) {
      const page = await this.pull(from, PAGE, signal);
      yield page;
      ({ cursor: from, hasMore } = page);
    }
  }

  /** All live files, page by page. */
  async *snapshot(signal?: AbortSignal): AsyncGenerator<SnapshotPage, void> {
    const { id } = this;
    const seen = new Set<string>();
    let cursor: number | undefined;
    for (let pageCursor: string | undefined; ;) {
      const query = { limit: String(PAGE), ...(pageCursor !== undefined && { pageCursor }) };
      const params = { path: { id }, query };
      const path = '/api/v1/workspaces/{id}/sync/snapshot';
      const page = await dataOf(this.session.api.GET(path, { params, signal: signal ?? null }));
      cursor ??= checkCursor(page.cursor);
      page.files.forEach(checkFile);
      yield { files: page.files, cursor };
      if (page.nextPageCursor === null) return;
      if (seen.has(page.nextPageCursor)) throw new InvalidAnswer('the snapshot of the service has no end');
      seen.add(page.nextPageCursor);
      pageCursor = page.nextPageCursor;
    }
  }

  /**
   * Deletes files, except those that another device has changed after `baseCursor`.
   * @returns those exceptions: pull, then decide
   */
  async pushDeletions(
    baseCursor: number,
    deletions: readonly Deletion[],
    signal?: AbortSignal,
  ): Promise<PushConflict[]> {
    const conflicts: PushConflict[] = [];
    for (let at = 0; at < deletions.length; at += PAGE) {
      const asked = deletions.slice(at, at + PAGE);
      const pushing = this.session.api.POST('/api/v1/workspaces/{id}/sync/push', {
        params: { path: { id: this.id } },
        body: {
          deviceId: this.deviceId,
          baseCursor,
          changes: asked.map((deletion) => ({ ...deletion, action: 'delete' as const })),
        },
        signal: signal ?? null,
      });
      const answer = await dataOf(pushing);
      checkDecided(asked, [...answer.accepted, ...answer.conflicts.map((one) => one.encryptedPath)]);
      conflicts.push(...answer.conflicts);
    }
    return conflicts;
  }
}

function checkChange(change: RemoteChange): void {
  checkFile(change);
  const { action } = change as { action: string };
  if (action !== 'upsert' && action !== 'delete')
    throw new InvalidAnswer('the service has a change that is neither an upsert nor a deletion');
}

/** Checks that each requested deletion was either accepted or refused. */
function checkDecided(asked: readonly Deletion[], decided: readonly unknown[]): void {
  const left = new Set(asked.map(({ encryptedPath }) => encryptedPath));
  for (const path of decided)
    if (!isEncryptedPath(path) || !left.delete(path))
      throw new InvalidAnswer('the service decides about a deletion that was not asked for');
  if (left.size > 0) throw new InvalidAnswer('the service does not say whether a file is deleted');
}
