import { Injectable } from '@nestjs/common';
import { type Restored, type Version, type VersionContent, Versions } from '../files/index.js';
import { Contents, type OpenedContent } from './contents.js';
import { encryptPath } from './vault-crypto.js';
import type { Vault } from './vault.js';

/** The version history of a note, including deleted notes. */
@Injectable()
export class NoteHistory {
  constructor(
    private readonly versions: Versions,
    private readonly contents: Contents,
  ) {}

  /** Lists versions newest first, page by page. @throws NotFound for an unknown path */
  list({ workspaceId, keys }: Vault, path: string): AsyncGenerator<Version[], void> {
    return this.versions.list(workspaceId, encryptPath(keys, path));
  }

  /** @throws NotFound for a version that does not belong to this path, and whatever reading a note throws */
  async read(
    vault: Vault,
    path: string,
    versionId: string,
  ): Promise<{ version: VersionContent } & OpenedContent> {
    const encryptedPath = encryptPath(vault.keys, path);
    const version = await this.versions.content(vault.workspaceId, encryptedPath, versionId);
    return { version, ...(await this.contents.open(vault, encryptedPath, version)) };
  }

  /**
   * Makes an old version the newest by adding exactly one version; a deleted note becomes live again. @throws
   * NotFound
   */
  restore(
    { workspaceId, keys }: Vault,
    path: string,
    versionId: string,
    deviceId: string,
  ): Promise<Restored> {
    return this.versions.restore(workspaceId, encryptPath(keys, path), versionId, deviceId);
  }
}
