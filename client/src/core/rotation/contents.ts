import type { Session } from '../api/index.js';
import type { Bytes, VaultKeys } from '../crypto/index.js';
import { type Checkpoint, type PulledPage, Workspace } from '../workspace/index.js';
import { unless404 } from './unless-404.js';

const DEVICE = 'rotation';

/** The contents of one workspace with their keys: everything that a rotation reads or writes. */
export class Contents {
  private readonly workspace: Workspace;

  constructor(
    private readonly session: Session,
    readonly workspaceId: string,
    readonly keys: VaultKeys,
  ) {
    this.workspace = new Workspace(session, workspaceId, DEVICE);
  }

  /** Changes after a cursor, oldest first. @throws NeedsBootstrap when the service no longer has them */
  pull(cursor: number, limit: number): Promise<PulledPage> {
    return this.workspace.log.pull(cursor, limit);
  }

  async head(): Promise<number> {
    return (await this.workspace.log.status()).cursor;
  }

  /** The versions that are kept, oldest first. */
  async versions(encryptedPath: string): Promise<{ readonly id: string; readonly version: number }[]> {
    return (await this.workspace.history.versions(encryptedPath)).sort((a, b) => a.version - b.version);
  }

  /** The envelope. @returns undefined when the service no longer has it */
  async download(encryptedPath: string, versionId: string): Promise<Uint8Array | undefined> {
    return (await unless404(this.workspace.files.download(encryptedPath, versionId)))?.content;
  }

  async upload(encryptedPath: string, contentHash: string, envelope: Uint8Array): Promise<void> {
    await this.workspace.files.upload({ encryptedPath, contentHash, content: envelope });
  }

  async delete(encryptedPath: string): Promise<void> {
    const params = {
      path: { id: this.workspaceId, encPath: encryptedPath },
      header: { 'X-Device-Id': DEVICE },
    };
    // 404: a repeat after a lost answer
    await unless404(this.session.api.DELETE('/api/v1/workspaces/{id}/files/{encPath}', { params }));
  }

  /** Oldest first. */
  async checkpoints(): Promise<Checkpoint[]> {
    return (await this.workspace.history.checkpoints()).reverse();
  }

  async createCheckpoint(encryptedLabel: string, kind: Checkpoint['kind']): Promise<void> {
    await this.workspace.history.createCheckpoint(encryptedLabel, kind);
  }

  /** Tokens, oldest first. */
  async assets(): Promise<string[]> {
    return (await this.workspace.assets.list()).map((one) => one.encryptedFilename).reverse();
  }

  downloadAsset(token: string): Promise<Bytes | undefined> {
    return unless404(this.workspace.assets.download(token));
  }

  uploadAsset(token: string, envelope: Uint8Array): Promise<void> {
    return this.workspace.assets.upload(token, envelope);
  }

  deleteAsset(token: string): Promise<void> {
    return this.workspace.assets.delete(token);
  }
}
