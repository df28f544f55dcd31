import {
  arrayOf,
  COUNT,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  ORDINAL,
  SHA256_HEX,
  STRING,
  UUID,
} from '../api-docs/index.js';
import { KEY_SESSION, NO_SESSION, OF_NOTE, TAG, WRITING } from './automation.docs.js';
import type { NoteVersionContentWire, NoteVersionWire } from './history.wire.js';

const VERSION = named(
  'NoteVersion',
  objectOf<NoteVersionWire>({
    versionId: UUID,
    version: ORDINAL,
    size: COUNT,
    contentHash: SHA256_HEX,
    deviceId: nullable(STRING),
    createdAt: INSTANT,
    changeCursor: nullable(ORDINAL),
  }),
);

const VERSION_CONTENT = named(
  'NoteVersionContent',
  objectOf<NoteVersionContentWire>({
    path: STRING,
    content: STRING,
    version: ORDINAL,
    contentHash: SHA256_HEX,
    createdAt: INSTANT,
  }),
);

export const HISTORY_DOCS = {
  tag: TAG,
  operations: {
    get: {
      summary: 'The versions of a note, or one of them with its content',
      path: OF_NOTE,
      headers: KEY_SESSION,
      query: { version: { description: 'The id of a version.', schema: UUID } },
      answers: {
        200: json('newest first; with `version` that one alone', {
          anyOf: [objectOf<{ versions: unknown }>({ versions: arrayOf(VERSION) }), VERSION_CONTENT],
        }),
        400: 'the path or the query is not in order',
        ...NO_SESSION,
        404: 'a path that was never seen, or no version of it',
        409: 'the content does not open with this key, or is no text',
      },
    },
    restore: {
      summary: 'Make an old version of a note the newest',
      path: OF_NOTE,
      headers: WRITING,
      answers: {
        200: json(
          'the new version',
          objectOf<Record<'path' | 'version' | 'contentHash', unknown>>({
            path: STRING,
            version: ORDINAL,
            contentHash: SHA256_HEX,
          }),
        ),
        ...NO_SESSION,
        404: 'no version of this note',
      },
    },
  },
} as const;
