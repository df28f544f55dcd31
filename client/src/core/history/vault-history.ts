import { decryptLabel, encryptLabel, encryptPath, isUnopened, type VaultKeys } from '../crypto/index.js';
import { ApiError, NetworkError } from '../http/index.js';
import type { Checkpoint, CheckpointKind, Workspace } from '../workspace/index.js';
import { openedPath } from './names.js';
import { type PastContent, pastContents } from './past-contents.js';
import { manifestOf, type PastFile, type PastState, stateAt, stateOfManifest } from './past-state.js';

/** A version of a file that the service keeps. */
export interface FileVersion {
  readonly id: string;
  readonly version: number;
  readonly contentHash: string;
  /** Of the envelope. */
  readonly encryptedSize: number;
  /** An invalid date when the service's is none; so are the other dates here. */
  readonly savedAt: Date;
  readonly deviceId: string | null;
}

/** A mark in the log. */
export interface NamedCheckpoint {
  readonly id: string;
  /** Undefined when it does not open: another vault, or altered. */
  readonly label: string | undefined;
  readonly kind: CheckpointKind;
  readonly cursor: number;
  readonly createdAt: Date;
}

/** A deleted file, whose versions are kept. */
export interface DeletedFile {
  /** Undefined when its name does not open. */
  readonly path: string | undefined;
  readonly encryptedPath: string;
  readonly deletedAt: Date;
}

/** What was in a vault: versions, checkpoints and the trash, with names and dates that people can read. */
export class VaultHistory {
  constructor(
    private readonly workspace: Workspace,
    private readonly keys: VaultKeys,
  ) {}

  /** Those of one file, newest first; none for a path that never had one. */
  async versions(path: string): Promise<FileVersion[]> {
    try {
      const versions = await this.workspace.history.versions(encryptPath(this.keys, path));
      return versions.map(({ id, version, content_hash, encrypted_size, created_at, device_id }) => ({
        ...{ id, version, contentHash: content_hash, encryptedSize: encrypted_size },
        ...{ savedAt: new Date(created_at), deviceId: device_id },
      }));
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
      await this.workspace.log.status(); // throws when it is the workspace that is gone
      return [];
    }
  }

  /** Newest first. */
  async checkpoints(): Promise<NamedCheckpoint[]> {
    const checkpoints = await this.workspace.history.checkpoints();
    return Promise.all(checkpoints.map((one) => this.named(one)));
  }

  /**
   * Marks what the service has now. Once, also when the answer is lost: no other checkpoint has the same encrypted label.
   */
  async createCheckpoint(label: string, kind: CheckpointKind = 'manual'): Promise<NamedCheckpoint> {
    const { history } = this.workspace;
    const encryptedLabel = await encryptLabel(this.keys, label);
    try {
      return await this.named(await history.createCheckpoint(encryptedLabel, kind));
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      const made = (await history.checkpoints()).find((one) => one.encryptedLabel === encryptedLabel);
      if (made) return this.named(made);
      throw error;
    }
  }

  /** Deleted files, page by page. */
  async *trash(): AsyncGenerator<DeletedFile[], void> {
    for await (const page of this.workspace.history.trash())
      yield page.map(({ encrypted_path: encryptedPath, deleted_at }) => ({
        ...{ path: openedPath(this.keys, encryptedPath), encryptedPath },
        deletedAt: new Date(deleted_at),
      }));
  }

  /** What a checkpoint marks. @throws RangeError when the log was shortened since */
  async stateAtCheckpoint(checkpointId: string): Promise<PastState> {
    return stateOfManifest(this.keys, await manifestOf(this.workspace, checkpointId));
  }

  /** What was there at a moment. @throws RangeError as `stateAtCheckpoint` */
  stateAt(moment: Date): Promise<PastState> {
    return stateAt(this.workspace, this.keys, moment);
  }

  /** One file as it was in a version. */
  pastFile(path: string, versionId: string): PastFile {
    return { path, encryptedPath: encryptPath(this.keys, path), then: { versionId } };
  }

  /** Contents as they were, decrypted, in any order. One that is not to be had leaves the others. */
  contents(files: Iterable<PastFile>, mostBytes = Infinity): AsyncGenerator<PastContent, void> {
    return pastContents(this.workspace, this.keys, files, mostBytes);
  }

  private async named({ id, encryptedLabel, kind, cursor, createdAt }: Checkpoint): Promise<NamedCheckpoint> {
    const label = await decryptLabel(this.keys, encryptedLabel).catch((error: unknown) => {
      if (isUnopened(error)) return undefined;
      throw error;
    });
    return { id, label, kind, cursor, createdAt: new Date(`${createdAt.replace(' ', 'T')}Z`) };
  }
}
