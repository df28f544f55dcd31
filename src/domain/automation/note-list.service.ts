import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { contentHashesIn, type ListedFile } from '../files/index.js';
import { EventLoopYield } from '../../platform/async/index.js';
import { Clock } from '../../platform/clock/index.js';
import { BadRequest, fromRequest } from '../../platform/http/index.js';
import { ChangeLogReader, clampTextLimit } from '../sync/index.js';
import { pathOrNull } from './plaintext.js';
import type { Vault } from './vault.js';

/** Which notes to list. */
export interface NotesQuery {
  /** Prefix of the paths, in NFC. */
  readonly prefix: string;
  /** 1 to 1000. */
  readonly limit: number;
  /** The end of the previous page. */
  readonly pageCursor: string | undefined;
}

/** `prefix`, `limit` and `pageCursor`. */
export const RequestedNotes = fromRequest(({ query }): NotesQuery => {
  const { prefix = '', limit, pageCursor } = query as Record<string, unknown>;
  if (typeof prefix !== 'string') throw new BadRequest('prefix must be a string');
  const from = pageCursor === '' ? undefined : pageCursor;
  if (from !== undefined && !isUUID(from)) throw new BadRequest('pageCursor is not a cursor of this list');
  return {
    prefix: prefix.normalize('NFC'),
    limit: clampTextLimit(limit),
    pageCursor: from as string | undefined,
  };
});

/** `If-Match: "<content hash>", …` or `*`; null when absent. */
export const IfMatch = fromRequest(({ headers }) => contentHashesIn(headers['if-match']));

/**
 * The maximum number of files that one request examines: paths are encrypted, so the database cannot filter by
 * prefix.
 */
const LOOKED_AT = 5_000;
const MAX_PAGE = 1_000;

export interface ListedNote {
  /** Null when it cannot be decrypted with this key. */
  readonly path: string | null;
  readonly file: ListedFile;
}

export interface NotePage {
  readonly notes: ListedNote[];
  /** The start of the next page; null after the last. */
  readonly nextPageCursor: string | null;
}

/** Lists the live notes in order of creation. */
@Injectable()
export class NoteList {
  constructor(
    private readonly sync: ChangeLogReader,
    private readonly clock: Clock,
  ) {}

  /** Returns up to `limit` notes; fewer, even none, when many consecutive files do not match the prefix. */
  async page({ workspaceId, keys }: Vault, { prefix, limit, pageCursor }: NotesQuery): Promise<NotePage> {
    const turns = new EventLoopYield(this.clock);
    const notes: ListedNote[] = [];
    let after = pageCursor;
    for (let lookedAt = 0; ;) {
      const pageSize = prefix === '' ? limit - notes.length : MAX_PAGE;
      const { files, hasMore } = await this.sync.snapshot(workspaceId, after, pageSize);
      for (const [index, file] of files.entries()) {
        const path = pathOrNull(keys, file.encryptedPath);
        if (prefix === '' || path?.startsWith(prefix)) notes.push({ path, file });
        await turns.pause();
        after = file.id;
        if (notes.length === limit) {
          return { notes, nextPageCursor: hasMore || index < files.length - 1 ? after : null };
        }
      }
      lookedAt += files.length;
      if (!hasMore) return { notes, nextPageCursor: null };
      if (lookedAt >= LOOKED_AT) return { notes, nextPageCursor: after ?? null };
    }
  }
}
