import { isUUID } from 'class-validator';
import { parseIfMatch } from '../files/index.js';
import { BadRequest, fromRequest } from '../platform/http/index.js';
import { clampTextLimit } from '../sync/index.js';

/** Which notes to list. */
export interface NotesQuery {
  /** Beginning of the paths, in NFC. */
  readonly prefix: string;
  /** 1 to 1000. */
  readonly limit: number;
  /** Where the page before ended. */
  readonly pageCursor: string | undefined;
}

/** `prefix`, `limit` and `pageCursor`. */
export const WhichNotes = fromRequest(({ query }): NotesQuery => {
  const { prefix = '', limit, pageCursor } = query as Record<string, unknown>;
  if (typeof prefix !== 'string') throw new BadRequest('prefix must be a text');
  const from = pageCursor === '' ? undefined : pageCursor;
  if (from !== undefined && !isUUID(from)) throw new BadRequest('pageCursor is not one of this list');
  return {
    prefix: prefix.normalize('NFC'),
    limit: clampTextLimit(limit),
    pageCursor: from as string | undefined,
  };
});

/** `If-Match: "<content hash>", …` or `*`; null without one. */
export const IfMatch = fromRequest(({ headers }) => parseIfMatch(headers['if-match']));
