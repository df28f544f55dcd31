import { Controller, Delete, Get, Param, Post, Res } from '@nestjs/common';
import { IsIn, Matches } from 'class-validator';
import type { FastifyReply } from 'fastify';
import {
  CurrentWorkspace,
  OwnedWorkspace,
  RequiresSubscription,
  Scopes,
  type WorkspaceRef,
} from '../../access/index.js';
import {
  arrayOf,
  COUNT,
  Documented,
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
import { BadRequest, fromRequest, JsonBody, sendJsonList } from '../../platform/http/index.js';
import { ENCRYPTED_PATH, ENCRYPTED_PATH_RULE } from '../files/index.js';
import { type Checkpoint, type CheckpointKind, Checkpoints } from './checkpoints.service.js';
import {
  type Manifest,
  type ManifestEntry,
  type NoteState,
  type ProjectionOf,
  Projections,
  type Summary,
  type SummaryEntry,
} from './projections.js';

const PATH = matching(ENCRYPTED_PATH);

export const CHECKPOINT_FIELDS = {
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

const CHECKPOINT = named('Checkpoint', objectOf<Checkpoint>(CHECKPOINT_FIELDS));
const CREATED = named('CreatedCheckpoint', objectOf({ ...CHECKPOINT_FIELDS, workspaceId: UUID }));

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
  anyOf: [objectOf({ versionId: nullable(UUID) }), objectOf({ absent: { const: true } })],
};

const ABSENT = 'checkpoint not found';
export const COMPACTED = json('the change log has been compacted', errorWith({ compactionFloor: COUNT }));
export const OF_CHECKPOINT = { cpId: { description: 'The id of a checkpoint.', schema: UUID } } as const;

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
        200: json('all checkpoints', objectOf({ checkpoints: arrayOf(CHECKPOINT) })),
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

/** Optional `fromCursor`. */
export const FromCursor = fromRequest(({ query }) => {
  const { fromCursor } = query as { fromCursor?: unknown };
  if (fromCursor === undefined) return undefined;
  const cursor = typeof fromCursor === 'string' && /^\d+$/.test(fromCursor) ? Number(fromCursor) : Number.NaN;
  if (Number.isSafeInteger(cursor)) return cursor;
  throw new BadRequest('fromCursor must be a non-negative integer');
});

/** Required `encPath`. */
const EncryptedPathQuery = fromRequest(({ query }) => {
  const { encPath } = query as { encPath?: unknown };
  if (typeof encPath === 'string' && ENCRYPTED_PATH.test(encPath)) return encPath;
  throw new BadRequest(`encPath ${ENCRYPTED_PATH_RULE}`);
});

/** Base64, base64url or hex. Labels are opaque: only alphabet and length are checked. */
const LABEL = /^(?=.{1,8192}$)(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/;

class CreateCheckpointRequest {
  @Matches(LABEL, { message: 'encryptedLabel must be 1 to 8192 characters of base64, base64url or hex' })
  encryptedLabel: string;

  @IsIn(['manual', 'auto'], { message: 'kind must be manual or auto' })
  kind: CheckpointKind;
}

@Controller('api/v1/workspaces/:id/checkpoints')
@Documented(CHECKPOINTS_DOCS)
@OwnedWorkspace()
export class CheckpointsController {
  constructor(
    private readonly checkpoints: Checkpoints,
    private readonly projections: Projections,
  ) {}

  @Post()
  @Scopes('documents:write')
  @RequiresSubscription()
  async create(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @JsonBody() { encryptedLabel, kind }: CreateCheckpointRequest,
  ): Promise<Checkpoint & { workspaceId: string }> {
    const { id, ...rest } = await this.checkpoints.create(workspace.id, encryptedLabel, kind);
    return { id, workspaceId: workspace.id, ...rest };
  }

  @Get()
  @Scopes('documents:read')
  async list(@CurrentWorkspace() workspace: WorkspaceRef, @Res() reply: FastifyReply): Promise<void> {
    const form = { before: '{"checkpoints":[', after: ']}' };
    await sendJsonList(reply, this.checkpoints.list(workspace.id), form);
  }

  @Delete(':cpId')
  @Scopes('documents:write')
  @RequiresSubscription()
  async delete(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Param('cpId') id: string,
  ): Promise<{ ok: true }> {
    await this.checkpoints.delete(workspace.id, id);
    return { ok: true };
  }

  @Get(':cpId/summary')
  @Scopes('documents:read')
  summary(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Param('cpId') id: string,
    @FromCursor() fromCursor: number | undefined,
  ): Promise<Summary> {
    return this.projections.summary(askedBy(workspace), id, fromCursor);
  }

  @Get(':cpId/restore-manifest')
  @Scopes('documents:read')
  restoreManifest(@CurrentWorkspace() workspace: WorkspaceRef, @Param('cpId') id: string): Promise<Manifest> {
    return this.projections.restoreManifest(askedBy(workspace), id);
  }

  @Get(':cpId/note-state')
  @Scopes('documents:read')
  noteState(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Param('cpId') id: string,
    @EncryptedPathQuery() encryptedPath: string,
  ): Promise<NoteState> {
    return this.projections.noteState(workspace.id, id, encryptedPath);
  }
}

const askedBy = ({ id, caller }: WorkspaceRef): ProjectionOf => ({ userId: caller.userId, workspaceId: id });
