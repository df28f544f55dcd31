import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { VersionEntity } from '../files/index.js';
import { Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import { type BlobReference, Blobs, type ByteRange } from '../../platform/storage/index.js';
import { noteStatements } from './automation.queries.js';

/** The newest version of a live file and the location of its ciphertext. */
export interface Head extends BlobReference {
  readonly encryptedPath: string;
  readonly version: number;
  /** SHA-256 of the ciphertext. */
  readonly contentHash: string;
  readonly updatedAt: Date;
}

/** Reads the files whose plaintext is requested. */
@Injectable()
export class NoteHeads {
  constructor(
    private readonly database: Database,
    private readonly blobs: Blobs,
    @InjectRepository(VersionEntity) private readonly versions: Repository<VersionEntity>,
  ) {}

  /** @throws NotFound unless the path is live */
  async at(workspaceId: string, encryptedPath: string): Promise<Head> {
    const [head] = await this.among(workspaceId, [encryptedPath]);
    if (!head) throw new NotFound('file not found');
    return head;
  }

  /**
   * Returns the live files among the paths.
   * @param maxSize inline bytes of larger files are not fetched, so these cannot be read
   */
  among(
    workspaceId: string,
    encryptedPaths: readonly string[],
    maxSize = Number.MAX_SAFE_INTEGER,
  ): Promise<Head[]> {
    return this.database.run<Head>(noteStatements.heads, [workspaceId, encryptedPaths, maxSize]);
  }

  /** Returns the whole ciphertext. */
  envelope(blob: BlobReference): Promise<Buffer> {
    return this.blobs.readWhole(blob);
  }

  /** Streams a part of an envelope that is not stored inline, at the reader's pace. */
  pieces(blob: BlobReference, range: ByteRange): AsyncIterable<Buffer> {
    return this.blobs.pieces(blob, range);
  }

  /** When a version was written: its file row, its change and its version share this time. */
  async writtenAt(workspaceId: string, fileId: string, version: number): Promise<Date> {
    const where = { workspaceId, fileId, version };
    const row = await this.versions.findOne({ select: { createdAt: true }, where });
    if (!row) throw new NotFound('workspace not found'); // purged meanwhile
    return row.createdAt;
  }
}
