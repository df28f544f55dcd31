import {
  arrayOf,
  BOOLEAN,
  COUNT,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  ORDINAL,
  SHA256_HEX,
  UUID,
} from '../api-docs/index.js';
import { PAGE_QUERY, PATH } from './sync.docs.js';
import type { TrashedFileWire } from './sync.wire.js';

const TRASHED_FILE = named(
  'TrashedFile',
  objectOf<TrashedFileWire>({
    id: UUID,
    encrypted_path: PATH,
    content_hash: SHA256_HEX,
    encrypted_size: COUNT,
    version: ORDINAL,
    deleted_at: INSTANT,
  }),
);

const TRASH = objectOf<Record<'files' | 'nextPageCursor' | 'hasMore', unknown>>({
  files: arrayOf(TRASHED_FILE),
  nextPageCursor: nullable(UUID),
  hasMore: BOOLEAN,
});

export const TRASH_DOCS = {
  tag: 'Files',
  operations: {
    list: {
      summary: 'The deleted files, page by page',
      description: 'Their versions are listed, downloaded and restored as those of live files.',
      query: PAGE_QUERY,
      answers: { 200: json('a page, by file id', TRASH), 400: 'pageCursor is no file id' },
    },
  },
} as const;
