import { Injectable } from '@nestjs/common';
import type { BlobReference } from '../platform/blobs/index.js';
import { Database } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { callerKey, Standings, type WorkspaceRef } from '../workspaces/index.js';
import { fileStatements } from './files.queries.js';

/** A version's ciphertext: what its headers say and where its bytes are. */
export interface Content extends BlobReference {
  readonly contentHash: string;
}

/** Each row may carry an inline blob. */
const MOST_AT_ONCE = 16;

interface Waiting {
  readonly encryptedPath: string;
  readonly resolve: (content: Content | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Heads that one caller asks for in the same turn of the event loop, as a device does that fetches a whole workspace, are
 * read in one round trip: for small files that costs more than all else.
 */
@Injectable()
export class Heads {
  private readonly gathering = new Map<string, Waiting[]>();

  constructor(
    private readonly database: Database,
    private readonly standings: Standings,
  ) {}

  /** The live head of a path. @throws NotFound, also when the workspace is not open to the caller */
  async content({ id, caller }: WorkspaceRef, encryptedPath: string): Promise<Content> {
    const content = await this.read({ id, caller }, encryptedPath);
    if (!content) throw new NotFound('file not found');
    return content;
  }

  private read(workspace: WorkspaceRef, encryptedPath: string): Promise<Content | undefined> {
    const { id, caller } = workspace;
    const key = `${id} ${callerKey(caller)}`;
    return new Promise((resolve, reject) => {
      const waiting = { encryptedPath, resolve, reject };
      const gathered = this.gathering.get(key);
      if (gathered && gathered.length < MOST_AT_ONCE) {
        gathered.push(waiting);
        return;
      }
      const fresh = [waiting];
      this.gathering.set(key, fresh);
      setImmediate(() => {
        if (this.gathering.get(key) === fresh) this.gathering.delete(key);
        void this.settle(fresh, workspace);
      });
    });
  }

  private async settle(all: readonly Waiting[], { id, caller }: WorkspaceRef): Promise<void> {
    try {
      const paths = all.map(({ encryptedPath }) => encryptedPath);
      const values = [id, paths, ...this.standings.accessParameters(caller)];
      const rows = await this.database.run<Content & { place: number }>(fileStatements.heads, values);
      const found = new Map(rows.map(({ place, ...content }) => [place, content]));
      all.forEach(({ resolve }, index) => resolve(found.get(index + 1)));
    } catch (error) {
      for (const { reject } of all) reject(error);
    }
  }
}
