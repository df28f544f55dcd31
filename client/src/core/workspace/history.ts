import { dataOf, type Session } from '../api/index.js';
import type { components, operations } from '../api/schema.js';
import { InvalidAnswer } from '../http/index.js';
import { checkFile, isCount, isHash, type RemoteFile } from './checks.js';

type Answer<
  Name extends keyof operations,
  Status extends keyof operations[Name]['responses'],
> = operations[Name]['responses'][Status] extends { content: { 'application/json': infer Json } }
  ? Json
  : never;

/** A version of a file that the service keeps. */
export type Version = Answer<'versions.list', 200>['versions'][number];
/** A mark in the log. */
export type Checkpoint = Answer<'checkpoints.list', 200>['checkpoints'][number];
/** What makes the workspace as it was at a checkpoint, as long as `expectedHeadCursor` is the head. */
export type RestoreManifest = Answer<'checkpoints.getRestoreManifest', 200>;
export type CheckpointSummary = Answer<'checkpoints.getSummary', 200>;
/** A file that was deleted, and whose versions are kept. */
export type TrashedFile = Answer<'files.listTrash', 200>['files'][number];
export type Usage = Answer<'usage.get', 200>;
export type CheckpointKind = components['schemas']['CreateCheckpointRequest']['kind'];

/** Versions, checkpoints and the trash of a workspace. */
export class History {
  constructor(
    private readonly session: Session,
    private readonly id: string,
    private readonly deviceId: string,
  ) {}

  /** Newest first. @throws ApiError 404 for a path that never had one */
  async versions(encPath: string): Promise<Version[]> {
    const params = { path: { id: this.id, encPath } };
    const path = '/api/v1/workspaces/{id}/files/{encPath}/versions';
    const { versions } = await dataOf(this.session.api.GET(path, { params }));
    return versions;
  }

  /**
   * Makes an old version the newest one. Each call makes another version, so it is not repeated after a lost answer: the
   * next pull tells whether it was done.
   */
  async restore(encPath: string, versionId: string): Promise<RemoteFile> {
    const params = {
      path: { id: this.id, encPath, vid: versionId },
      header: { 'X-Device-Id': this.deviceId },
    };
    const path = '/api/v1/workspaces/{id}/files/{encPath}/restore/{vid}';
    const { version, contentHash, encryptedSize } = await dataOf(this.session.api.POST(path, { params }));
    return checkFile({ encryptedPath: encPath, version, contentHash, encryptedSize });
  }

  /** Newest first. */
  async checkpoints(): Promise<Checkpoint[]> {
    const params = { path: { id: this.id } };
    return (await dataOf(this.session.api.GET('/api/v1/workspaces/{id}/checkpoints', { params })))
      .checkpoints;
  }

  /** Marks the head of the log. Not repeated after a lost answer: it would make a second one. */
  async createCheckpoint(encryptedLabel: string, kind: CheckpointKind = 'manual'): Promise<Checkpoint> {
    const request = { params: { path: { id: this.id } }, body: { encryptedLabel, kind } };
    return dataOf(this.session.api.POST('/api/v1/workspaces/{id}/checkpoints', request));
  }

  /** Removes the mark alone: log and versions stay. @throws ApiError 404 when it is gone, also by a lost answer */
  async deleteCheckpoint(cpId: string): Promise<void> {
    const params = { path: { id: this.id, cpId } };
    await this.session.api.DELETE('/api/v1/workspaces/{id}/checkpoints/{cpId}', { params });
  }

  /** To be fetched again right before it is applied. */
  async restoreManifest(cpId: string): Promise<RestoreManifest> {
    const params = { path: { id: this.id, cpId } };
    const path = '/api/v1/workspaces/{id}/checkpoints/{cpId}/restore-manifest';
    const manifest = await dataOf(this.session.api.GET(path, { params }));
    if (!isCount(manifest.expectedHeadCursor)) throw new InvalidAnswer('the manifest has no head');
    return manifest;
  }

  /** What changed up to a checkpoint, since the one before it or since a cursor. */
  async summary(cpId: string, fromCursor?: number): Promise<CheckpointSummary> {
    const query = fromCursor === undefined ? {} : { fromCursor };
    const params = { path: { id: this.id, cpId }, query };
    return dataOf(this.session.api.GET('/api/v1/workspaces/{id}/checkpoints/{cpId}/summary', { params }));
  }

  /** Deleted files, page by page. */
  async *trash(): AsyncGenerator<TrashedFile[], void> {
    const seen = new Set<string>();
    for (let pageCursor: string | undefined; ;) {
      const query = { limit: '1000', ...(pageCursor !== undefined && { pageCursor }) };
      const params = { path: { id: this.id }, query };
      const page = await dataOf(this.session.api.GET('/api/v1/workspaces/{id}/trash', { params }));
      if (!page.files.every((file) => isHash(file.content_hash)))
        throw new InvalidAnswer('the service describes a deleted file in another form than agreed');
      yield page.files;
      if (page.nextPageCursor === null) return;
      if (seen.has(page.nextPageCursor)) throw new InvalidAnswer('the trash of the service has no end');
      seen.add((pageCursor = page.nextPageCursor));
    }
  }

  /** What the account uses of its quotas, all its workspaces included. */
  async usage(): Promise<Usage> {
    return dataOf(this.session.api.GET('/api/v1/usage'));
  }
}
