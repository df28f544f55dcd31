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
/** A named position in the change log. */
export type Checkpoint = Answer<'checkpoints.list', 200>['checkpoints'][number];
/** The steps that restore a checkpoint, valid as long as `expectedHeadCursor` is the head. */
export type RestoreManifest = Answer<'checkpoints.getRestoreManifest', 200>;
export type CheckpointSummary = Answer<'checkpoints.getSummary', 200>;
/** A deleted file whose versions are kept. */
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

  /** Newest first. @throws ApiError 404 for a path that was never a file */
  async versions(encPath: string): Promise<Version[]> {
    const params = { path: { id: this.id, encPath } };
    const path = '/api/v1/workspaces/{id}/files/{encPath}/versions';
    const { versions } = await dataOf(this.session.api.GET(path, { params }));
    return versions;
  }

  /**
   * Makes an old version the newest one. Each call adds a version, so it is not repeated after a lost answer: the next pull
   * shows whether it was done.
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

  /** Marks the head of the log. Not repeated after a lost answer: that would create a second checkpoint. */
  async createCheckpoint(encryptedLabel: string, kind: CheckpointKind = 'manual'): Promise<Checkpoint> {
    const request = { params: { path: { id: this.id } }, body: { encryptedLabel, kind } };
    return dataOf(this.session.api.POST('/api/v1/workspaces/{id}/checkpoints', request));
  }

  /** Deletes only the checkpoint: log and versions stay. @throws ApiError 404, also after a lost answer */
  async deleteCheckpoint(cpId: string): Promise<void> {
    const params = { path: { id: this.id, cpId } };
    await this.session.api.DELETE('/api/v1/workspaces/{id}/checkpoints/{cpId}', { params });
  }

  /** Fetch it again right before applying it. */
  async restoreManifest(cpId: string): Promise<RestoreManifest> {
    const params = { path: { id: this.id, cpId } };
    const path = '/api/v1/workspaces/{id}/checkpoints/{cpId}/restore-manifest';
    const manifest = await dataOf(this.session.api.GET(path, { params }));
    if (!isCount(manifest.expectedHeadCursor)) throw new InvalidAnswer('the manifest has no head');
    return manifest;
  }

  /** The changes up to a checkpoint, since the previous one or since a cursor. */
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

  /** The usage of the account's quotas, over all its workspaces. */
  async usage(): Promise<Usage> {
    return dataOf(this.session.api.GET('/api/v1/usage'));
  }
}
