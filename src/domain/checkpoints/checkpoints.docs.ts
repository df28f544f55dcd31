import { ENCRYPTED_PATH } from '../files/index.js';
import {
  arrayOf,
  COUNT,
  errorWith,
  json,
  matching,
  named,
  nullable,
  objectOf,
  OK,
  oneOf,
  ORDINAL,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';
import type { Checkpoint } from './checkpoints.service.js';
import type { Manifest, ManifestEntry, Summary, SummaryEntry } from './projections.js';

const PATH = matching(ENCRYPTED_PATH);

const MARK = {
  id: UUID,
  encryptedLabel: STRING,
  kind: oneOf('manual', 'auto'),
  cursor: COUNT,
  createdAt: {
    type: 'string',
    pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$',
    description: '`YYYY-MM-DD HH:MM:SS`, UTC',
  },
};

const CHECKPOINT = named('Checkpoint', objectOf<Checkpoint>(MARK));
const CREATED = named(
  'CreatedCheckpoint',
  objectOf<Checkpoint & { workspaceId: string }>({ ...MARK, workspaceId: UUID }),
);

const SUMMARY = objectOf<Summary>({
  fromCursor: COUNT,
  toCursor: COUNT,
  entries: arrayOf(
    named(
      'SummaryEntry',
      objectOf<SummaryEntry>({
        encryptedPath: PATH,
        action: oneOf('created', 'modified', 'deleted'),
        changeCount: ORDINAL,
        latestVersion: ORDINAL,
      }),
    ),
  ),
});

const MANIFEST = objectOf<Manifest>({
  expectedHeadCursor: COUNT,
  entries: arrayOf(
    named(
      'ManifestEntry',
      objectOf<ManifestEntry>({
        encryptedPath: PATH,
        op: oneOf('restore', 'delete', 'noop'),
        beforeVersionId: nullable(UUID),
        afterVersionId: nullable(UUID),
      }),
    ),
  ),
});

const NOTE_STATE = {
  anyOf: [
    objectOf<{ versionId: string | null }>({ versionId: nullable(UUID) }),
    objectOf<{ absent: true }>({ absent: { const: true } }),
  ],
};

const ABSENT = 'checkpoint not found';
const COMPACTED = json('the change log has been compacted', errorWith({ compactionFloor: COUNT }));
const OF_CHECKPOINT = { cpId: { description: 'The id of a checkpoint.', schema: UUID } } as const;

export const CHECKPOINTS_DOCS = {
  tag: 'Checkpoints',
  operations: {
    create: {
      summary: 'Create a checkpoint at the head of the change log',
      answers: { 201: json('the checkpoint', CREATED), 409: 'the workspace already has 10,000 checkpoints' },
    },
    list: {
      summary: 'List the checkpoints, highest cursor first',
      answers: {
        200: json(
          'all checkpoints',
          objectOf<{ checkpoints: unknown }>({ checkpoints: arrayOf(CHECKPOINT) }),
        ),
      },
    },
    delete: {
      summary: 'Delete a checkpoint',
      description: 'Deletes only the marker. The change log and all versions stay.',
      path: OF_CHECKPOINT,
      answers: { 200: json('the checkpoint is deleted', OK), 404: ABSENT },
    },
    summary: {
      id: 'checkpoints.getSummary',
      summary: 'Summarise the changes up to a checkpoint',
      path: OF_CHECKPOINT,
      query: {
        fromCursor: {
          description: 'The exclusive start of the window. Default: the cursor of the next-older checkpoint.',
          schema: COUNT,
        },
      },
      answers: {
        200: json('each path that changed', SUMMARY),
        400: 'fromCursor is not a cursor, or is above the cursor of the checkpoint',
        404: ABSENT,
        409: COMPACTED,
      },
    },
    restoreManifest: {
      id: 'checkpoints.getRestoreManifest',
      summary: 'Get the operations that restore every path to a checkpoint',
      path: OF_CHECKPOINT,
      answers: {
        200: json('the operations, computed against one head', MANIFEST),
        404: ABSENT,
        409: COMPACTED,
      },
    },
    noteState: {
      id: 'checkpoints.getNoteState',
      summary: 'Get the version of a path at a checkpoint',
      path: OF_CHECKPOINT,
      query: { encPath: { description: 'The encrypted path.', schema: PATH, isRequired: true } },
      answers: {
        200: json('the version id, or `absent` if the path did not exist', NOTE_STATE),
        400: 'encPath is missing or invalid',
        404: ABSENT,
        409: COMPACTED,
      },
    },
  },
} as const;
