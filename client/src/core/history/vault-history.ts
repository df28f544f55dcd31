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
  /** Size of the envelope. */
  readonly encryptedSize: number;
  /** An invalid date when the service sent none; this holds for the other dates here too. */
  readonly savedAt: Date;
  readonly deviceId: string | null;
}

/** A named position in the change log. */
export interface NamedCheckpoint {
  readonly id: string;
  /** Undefined when it cannot be decrypted: another vault, or altered. */
  readonly label: string | undefined;
  readonly kind: CheckpointKind;
  readonly cursor: number;
  readonly createdAt: Date;
}

/** A deleted file, whose versions are kept. */
export interface DeletedFile {
  /** Undefined when its name cannot be decrypted. */
  readonly path: string | undefined;
  readonly encryptedPath: string;
  readonly deletedAt: Date;
}

/** The history of a vault: versions, checkpoints and the trash, decrypted. */
export class VaultHistory {
  constructor(
    private readonly workspace: Workspace,
    private readonly keys: VaultKeys,
  ) {}

  /** Versions of one file, newest first; none for a path that was never a file. */
  async versions(path: string): Promise<FileVersion[]> {
    try {
      const versions = await this.workspace.history.versions(encryptPath(this.keys, path));
      return versions.map(({ id, version, content_hash, encrypted_size, created_at, device_id }) => ({
        ...{ id, version, contentHash: content_hash, encryptedSize: encrypted_size },
        ...{ savedAt: new Date(created_at), deviceId: device_id },
      }));
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
      await this.workspace.log.status(); // throws when the workspace itself is gone
      return [];
    }
  }

  /** Newest first. */
  async checkpoints(): Promise<NamedCheckpoint[]> {
    const checkpoints = await this.workspace.history.checkpoints();
    return Promise.all(checkpoints.map((one) => this.named(one)));
  }

  /** Marks the current state of the service, once even if an answer is lost: encrypted labels are unique. */
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

  /** The state that a checkpoint marks. @throws RangeError when the log was shortened since */
  async stateAtCheckpoint(checkpointId: string): Promise<PastState> {
    return stateOfManifest(this.keys, await manifestOf(this.workspace, checkpointId));
  }

  /** The state at a point in time. @throws RangeError as `stateAtCheckpoint` */
  stateAt(moment: Date): Promise<PastState> {
    return stateAt(this.workspace, this.keys, moment);
  }

  /** One file in a given version. */
  pastFile(path: string, versionId: string): PastFile {
    return { path, encryptedPath: encryptPath(this.keys, path), then: { versionId } };
  }

  /** Old contents, decrypted, in any order. An unavailable one does not stop the others. */
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
