import {
  arrayOf,
  COUNT,
  errorWith,
  json,
  named,
  nullable,
  objectOf,
  oneOf,
  ORDINAL,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';
import { KEY_SESSION, NO_SESSION, TAG } from './automation.docs.js';
import type { NoteSummary } from './note-checkpoints.service.js';

const MARK = {
  id: UUID,
  label: nullable(STRING),
  kind: oneOf('manual', 'auto'),
  cursor: COUNT,
  createdAt: {
    type: 'string',
    pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$',
    description: '`YYYY-MM-DD HH:MM:SS`, UTC',
  },
};

const CHECKPOINT = named('NoteCheckpoint', objectOf<Record<keyof typeof MARK, unknown>>(MARK));

const LIST_OF_CHECKPOINTS = objectOf<{ checkpoints: unknown }>({ checkpoints: arrayOf(CHECKPOINT) });
const CREATED_CHECKPOINT = objectOf<Record<keyof typeof MARK | 'workspaceId', unknown>>({
  ...MARK,
  workspaceId: UUID,
});

const SUMMARY = objectOf<NoteSummary>({
  fromCursor: COUNT,
  toCursor: COUNT,
  entries: arrayOf(
    objectOf<NoteSummary['entries'][number]>({
      path: nullable(STRING),
      action: oneOf('created', 'modified', 'deleted'),
      changeCount: ORDINAL,
      latestVersion: ORDINAL,
    }),
  ),
});

export const NOTE_CHECKPOINTS_DOCS = {
  tag: TAG,
  operations: {
    create: {
      id: 'automation.createCheckpoint',
      summary: 'Create a checkpoint at the head of the change log, with a label in plaintext',
      headers: KEY_SESSION,
      properties: { label: { ...STRING, minLength: 1, description: 'up to 6,083 bytes of UTF-8' } },
      answers: {
        201: json('the checkpoint', CREATED_CHECKPOINT),
        ...NO_SESSION,
        409: 'the workspace already has 10,000 checkpoints',
      },
    },
    list: {
      id: 'automation.listCheckpoints',
      summary: 'List the checkpoints with their labels, highest cursor first',
      headers: KEY_SESSION,
      answers: {
        200: json('the checkpoints; `label` is null if it cannot be decrypted', LIST_OF_CHECKPOINTS),
        ...NO_SESSION,
      },
    },
    summary: {
      id: 'automation.getCheckpointSummary',
      summary: 'Summarise the changes up to a checkpoint, with paths in plaintext',
      path: { cpId: { description: 'The id of a checkpoint.', schema: UUID } },
      headers: KEY_SESSION,
      query: { fromCursor: { description: 'The exclusive start of the window.', schema: COUNT } },
      answers: {
        200: json('each path that changed', SUMMARY),
        400: 'fromCursor is not a cursor, or is above the cursor of the checkpoint',
        ...NO_SESSION,
        404: 'checkpoint not found',
        409: json('the change log has been compacted', errorWith({ compactionFloor: COUNT })),
      },
    },
  },
} as const;
