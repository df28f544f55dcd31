import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { Clock } from '../platform/clock/index.js';
import { Database, newId } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { Announcements } from './announcements.js';
import { lockLog } from './change-log.js';
import type { Content } from './heads.js';
import { versionStatements } from './versions.queries.js';

export interface Version {
  readonly id: string;
  readonly version: number;
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly deviceId: string | null;
  readonly createdAt: Date;
  /** Id of the change row that produced the version; null for rows older than the column. */
  readonly changeCursor: number | null;
}

export interface Restored {
  readonly fileId: string;
  readonly version: number;
  readonly contentHash: string;
  readonly encryptedSize: number;
}

/** The history of a path: also of one that is deleted now. */
@Injectable()
export class Versions {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly announcements: Announcements,
  ) {}

  /** Newest first. @throws NotFound for a path that was never seen */
  async list(workspaceId: string, encryptedPath: string): Promise<Version[]> {
    const versions = await this.database.run<Version>(versionStatements.list, [workspaceId, encryptedPath]);
    if (versions.length === 0) throw new NotFound('file not found');
    return versions;
  }

  /** @throws NotFound for a version that is not this path's */
  async content(workspaceId: string, encryptedPath: string, versionId: string): Promise<Content> {
    if (!isUUID(versionId)) throw new NotFound('version not found');
    const values = [workspaceId, encryptedPath, versionId];
    const [content] = await this.database.run<Content>(versionStatements.content, values);
    if (!content) throw new NotFound('version not found');
    return content;
  }

  /**
   * Makes an old version the newest: exactly one new version and one change row, the old blob shared, nothing lost;
   * a deleted path comes alive. @param deviceId the initiating device, or null. @throws NotFound
   */
  async restore(
    workspaceId: string,
    encryptedPath: string,
    versionId: string,
    deviceId: string | null,
  ): Promise<Restored> {
    if (!isUUID(versionId)) throw new NotFound('version not found');
    const restored = await this.database.transaction(async (tx) => {
      await lockLog(tx, workspaceId);
      const [row] = await tx.run<Restored>(versionStatements.restore, [
        ...[workspaceId, encryptedPath, versionId],
        ...[newId(), deviceId, this.clock.now()],
      ]);
      if (!row) throw new NotFound('version not found');
      return row;
    });
    this.announcements.changed(workspaceId, deviceId, 'restore');
    return restored;
  }
}
