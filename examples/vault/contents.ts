import type { VaultKeys } from '../../src/automation/vault-crypto.js';
import { bodyOf } from '../sync-folder/http.js';
import type { Caller } from './key-slots.js';

export interface Change {
  readonly encryptedPath: string;
  readonly action: 'upsert' | 'delete';
  readonly version: number;
}

export interface Version {
  readonly id: string;
  readonly version: number;
}

export interface Checkpoint {
  readonly id: string;
  readonly encryptedLabel: string;
  readonly kind: 'manual' | 'auto';
  /** It marks the state after this change. */
  readonly cursor: number;
}

const DEVICE = 'rotation';

/** The contents of one workspace with their keys: everything that a rotation reads or writes. */
export class Contents {
  constructor(
    private readonly service: Caller,
    readonly workspaceId: string,
    readonly keys: VaultKeys,
  ) {}

  /** Changes after a cursor, oldest first. @throws when the service no longer has them */
  async pull(
    cursor: number,
    limit: number,
  ): Promise<{ changes: Change[]; cursor: number; hasMore: boolean }> {
    const json = { deviceId: DEVICE, cursor, limit };
    const answer = await this.service.call({ method: 'POST', path: this.path('sync/pull'), json });
    return bodyOf(answer) as { changes: Change[]; cursor: number; hasMore: boolean };
  }

  async head(): Promise<number> {
    const answer = await this.service.call({ method: 'GET', path: this.path('sync/status') });
    return (bodyOf(answer) as { cursor: number }).cursor;
  }

  /** Those that are kept, oldest first. */
  async versions(encryptedPath: string): Promise<Version[]> {
    const path = this.path(`files/${encryptedPath}/versions`);
    const { versions } = bodyOf(await this.service.call({ method: 'GET', path })) as { versions: Version[] };
    return versions.toSorted((a, b) => a.version - b.version);
  }

  /** The envelope. @returns undefined when the service no longer has it */
  async download(encryptedPath: string, versionId: string): Promise<Buffer | undefined> {
    const path = this.path(`files/${encryptedPath}/versions/${versionId}`);
    const answer = await this.service.call({ method: 'GET', path }, 404);
    return answer.status === 404 ? undefined : answer.body;
  }

  async upload(encryptedPath: string, contentHash: string, envelope: Buffer): Promise<void> {
    const headers = { 'x-content-hash': contentHash, 'x-device-id': DEVICE };
    const path = this.path(`files/${encryptedPath}`);
    await this.service.call({ method: 'PUT', path, headers, bytes: envelope });
  }

  async delete(encryptedPath: string): Promise<void> {
    const headers = { 'x-device-id': DEVICE };
    const path = this.path(`files/${encryptedPath}`);
    await this.service.call({ method: 'DELETE', path, headers }, 404); // 404: a repeat after a lost answer
  }

  /** Oldest first. */
  async checkpoints(): Promise<Checkpoint[]> {
    const answer = await this.service.call({ method: 'GET', path: this.path('checkpoints') });
    return (bodyOf(answer) as { checkpoints: Checkpoint[] }).checkpoints.toReversed();
  }

  async createCheckpoint(encryptedLabel: string, kind: Checkpoint['kind']): Promise<void> {
    const json = { encryptedLabel, kind };
    await this.service.call({ method: 'POST', path: this.path('checkpoints'), json, repeatable: false });
  }

  /** Tokens, oldest first. */
  async assets(): Promise<string[]> {
    const answer = await this.service.call({
      method: 'GET',
      path: '/api/assets/list',
      headers: this.named(),
    });
    return (bodyOf(answer) as { encryptedFilename: string }[]).map((one) => one.encryptedFilename).reverse();
  }

  async downloadAsset(token: string): Promise<Buffer | undefined> {
    const call = { method: 'GET', path: `/api/assets/${token}`, headers: this.named() } as const;
    const answer = await this.service.call(call, 404);
    return answer.status === 404 ? undefined : Buffer.from(answer.body.toString(), 'base64');
  }

  async uploadAsset(token: string, envelope: Buffer): Promise<void> {
    const json = { encryptedFilename: token, data: envelope.toString('base64') };
    const call = { method: 'POST', path: '/api/assets', headers: this.named(), json } as const;
    await this.service.call(call, 409); // 409: a repeat after a lost answer
  }

  async deleteAsset(token: string): Promise<void> {
    await this.service.call({ method: 'DELETE', path: `/api/assets/${token}`, headers: this.named() });
  }

  private named(): Record<string, string> {
    return { 'x-workspace-id': this.workspaceId };
  }

  private path(rest: string): string {
    return `/api/v1/workspaces/${this.workspaceId}/${rest}`;
  }
}
