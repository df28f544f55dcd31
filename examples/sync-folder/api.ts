import { bodyOf } from './http.js';
import { LiveRoom } from './live-room.js';
import type { Session } from './session.js';

/** A file as the server sees it: it can read neither the name nor the content. */
export interface RemoteFile {
  readonly encryptedPath: string;
  /** SHA-256 of the envelope */
  readonly contentHash: string;
  readonly version: number;
}

export interface RemoteChange extends RemoteFile {
  readonly action: 'upsert' | 'delete';
}

export interface SnapshotPage {
  readonly files: RemoteFile[];
  readonly cursor: number;
  readonly nextPageCursor: string | null;
}

export interface PulledPage {
  readonly changes: RemoteChange[];
  readonly cursor: number;
  readonly hasMore: boolean;
}

export interface Checkpoint {
  readonly id: string;
  readonly encryptedLabel: string;
}

/** The operation that brings one path to a checkpoint. */
export interface ManifestEntry {
  readonly encryptedPath: string;
  readonly op: 'restore' | 'delete' | 'noop';
  /** null: the server no longer has the version */
  readonly afterVersionId: string | null;
}

export interface Manifest {
  /** The manifest is valid while this is the head. */
  readonly expectedHeadCursor: number;
  readonly entries: ManifestEntry[];
}

export interface Upload {
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly envelope: Uint8Array;
  /** Content hash of the version that this one is based on; undefined when there was none. */
  readonly base: string | undefined;
}

/**
 * The routes that a sync client needs, for one device and one workspace. Each throws ApiError when the server
 * refuses.
 */
export class SyncApi {
  constructor(
    private readonly session: Session,
    private readonly workspaceId: string,
    private readonly deviceId: string,
  ) {}

  async status(): Promise<{ cursor: number; fileCount: number }> {
    const answer = await this.session.call({ method: 'GET', path: this.path('sync/status') });
    return bodyOf(answer) as { cursor: number; fileCount: number };
  }

  async snapshot(pageCursor: string | null): Promise<SnapshotPage> {
    const query = pageCursor === null ? '' : `&pageCursor=${pageCursor}`;
    const path = this.path(`sync/snapshot?limit=1000${query}`);
    return bodyOf(await this.session.call({ method: 'GET', path })) as SnapshotPage;
  }

  /** @returns undefined when the server no longer has all changes since `cursor`: start from the snapshot */
  async pull(cursor: number): Promise<PulledPage | undefined> {
    const json = { deviceId: this.deviceId, cursor, limit: 1_000 };
    const answer = await this.session.call({ method: 'POST', path: this.path('sync/pull'), json }, 409);
    return answer.status === 409 ? undefined : (bodyOf(answer) as PulledPage);
  }

  /**
   * Deletes up to 1,000 files, except those that another device changed after `baseCursor`.
   * @returns the encrypted paths of those exceptions
   */
  async pushDeletions(
    baseCursor: number,
    files: { encryptedPath: string; contentHash?: string }[],
  ): Promise<string[]> {
    const changes = files.map(({ encryptedPath, contentHash }) => ({
      encryptedPath,
      contentHash,
      action: 'delete',
    }));
    const json = { deviceId: this.deviceId, baseCursor, changes };
    const answer = await this.session.call({ method: 'POST', path: this.path('sync/push'), json });
    const { conflicts } = bodyOf(answer) as { conflicts: { encryptedPath: string }[] };
    return conflicts.map((conflict) => conflict.encryptedPath);
  }

  /** @returns undefined, with nothing changed, when the server's file is no longer `base`: another device was faster */
  async upload({ encryptedPath, contentHash, envelope, base }: Upload): Promise<RemoteFile | undefined> {
    const headers = {
      'x-content-hash': contentHash,
      'x-device-id': this.deviceId,
      ...(base === undefined ? { 'if-none-match': '*' } : { 'if-match': `"${base}"` }),
    };
    const path = this.path(`files/${encryptedPath}`);
    const answer = await this.session.call({ method: 'PUT', path, headers, bytes: envelope }, 412);
    return answer.status === 412 ? undefined : (bodyOf(answer) as RemoteFile);
  }

  /** The current envelope and its hash as stated by the server. @returns undefined when there is no such file */
  async download(encryptedPath: string): Promise<{ envelope: Buffer; statedHash: string } | undefined> {
    const call = { method: 'GET', path: this.path(`files/${encryptedPath}`) } as const;
    const answer = await this.session.call(call, 404);
    if (answer.status === 404) return undefined;
    return { envelope: answer.body, statedHash: answer.headers.get('etag')?.replaceAll('"', '') ?? '' };
  }

  /** Marks the server's head. Not retried: a retry would create a second checkpoint. @returns its id */
  async createCheckpoint(encryptedLabel: string): Promise<string> {
    const json = { encryptedLabel, kind: 'manual' };
    const call = { method: 'POST', path: this.path('checkpoints'), json, repeatable: false } as const;
    return (bodyOf(await this.session.call(call)) as { id: string }).id;
  }

  /** Newest first. */
  async checkpoints(): Promise<Checkpoint[]> {
    const answer = await this.session.call({ method: 'GET', path: this.path('checkpoints') });
    return (bodyOf(answer) as { checkpoints: Checkpoint[] }).checkpoints;
  }

  /** Removes only the marker and keeps the history. */
  async deleteCheckpoint(id: string): Promise<void> {
    const call = { method: 'DELETE', path: this.path(`checkpoints/${id}`) } as const;
    await this.session.call(call, 404); // 404: a retry of a call that succeeded
  }

  async restoreManifest(checkpointId: string): Promise<Manifest> {
    const path = this.path(`checkpoints/${checkpointId}/restore-manifest`);
    return bodyOf(await this.session.call({ method: 'GET', path })) as Manifest;
  }

  /** Makes an old version the newest. Not retried: each call creates another version. */
  async restore(encryptedPath: string, versionId: string): Promise<RemoteFile> {
    const path = this.path(`files/${encryptedPath}/restore/${versionId}`);
    const headers = { 'x-device-id': this.deviceId };
    const answer = await this.session.call({ method: 'POST', path, headers, repeatable: false });
    return { ...(bodyOf(answer) as { contentHash: string; version: number }), encryptedPath };
  }

  async downloadVersion(encryptedPath: string, versionId: string): Promise<Buffer> {
    const path = this.path(`files/${encryptedPath}/versions/${versionId}`);
    return (await this.session.call({ method: 'GET', path })).body;
  }

  /** Opens the live room. @param cursor returns this device's position in the change log */
  listen(cursor: () => number): Promise<LiveRoom> {
    const address = (): Promise<string> => this.session.socketAddress(this.path('ws'));
    return LiveRoom.open({ address, deviceId: this.deviceId, cursor });
  }

  private path(rest: string): string {
    return `/api/v1/workspaces/${this.workspaceId}/${rest}`;
  }
}
