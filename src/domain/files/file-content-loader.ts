import { Injectable } from '@nestjs/common';
import { BatchLoader } from '../../platform/async/index.js';
import type { BlobReference } from '../../platform/storage/index.js';
import { Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import { accessKey, WorkspaceAccess, type WorkspaceRef } from '../../access/index.js';
import { fileStatements } from './files.queries.js';

/** The ciphertext of a version: its header values and the location of its bytes. */
export interface VersionBytes extends BlobReference {
  readonly contentHash: string;
}

/**
 * Half of what a client usually has in flight: while one batch is read, the callers of another get their answers and
 * ask again. Each row may carry an inline blob.
 */
const BATCH_SIZE = 8;

interface Ask {
  readonly workspace: WorkspaceRef;
  readonly encryptedPath: string;
}

/**
 * Concurrent reads of heads by one caller, such as a device that fetches a whole workspace, share round trips: for
 * small files the round trips dominate the cost.
 */
@Injectable()
export class FileContentLoader {
  private readonly batches = new BatchLoader<Ask, VersionBytes | undefined>(BATCH_SIZE, (asks) =>
    this.read(asks),
  );

  constructor(
    private readonly database: Database,
    private readonly workspaceAccess: WorkspaceAccess,
  ) {}

  /** Returns the live head of a path. @throws NotFound, also when the caller has no access to the workspace */
  async content(workspace: WorkspaceRef, encryptedPath: string): Promise<VersionBytes> {
    const content = await this.batches.load(accessKey(workspace), { workspace, encryptedPath });
    if (!content) throw new NotFound('file not found');
    return content;
  }

  /** All asks must come from one caller and one workspace. */
  private async read(asks: readonly Ask[]): Promise<(VersionBytes | undefined)[]> {
    const [first] = asks;
    if (!first) return [];
    const { id, caller } = first.workspace;
    const paths = asks.map(({ encryptedPath }) => encryptedPath);
    const values = [id, paths, ...(await this.workspaceAccess.admittedParameters(caller))];
    const rows = await this.database.run<VersionBytes & { place: number }>(fileStatements.heads, values);
    const found = new Map(rows.map(({ place, ...content }) => [place, content]));
    return asks.map((_, index) => found.get(index + 1));
  }
}
