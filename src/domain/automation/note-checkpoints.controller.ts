import { Controller, Get, Injectable, Param, Post, Res } from '@nestjs/common';
import { ValidateBy } from 'class-validator';
import type { FastifyReply } from 'fastify';
import { encryptLabel } from '../../../crypto/src/index.js';
import { OwnedWorkspace, RequiresSubscription, Scopes } from '../../access/index.js';
import {
  arrayOf,
  COUNT,
  Documented,
  json,
  named,
  nullable,
  objectOf,
  oneOf,
  ORDINAL,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';
import { EventLoopYield } from '../../platform/async.js';
import { Clock } from '../../platform/clock.js';
import { JsonBody, sendJsonList } from '../../platform/http/index.js';
import {
  type Checkpoint,
  CHECKPOINT_FIELDS,
  Checkpoints,
  COMPACTED,
  FromCursor,
  OF_CHECKPOINT,
  Projections,
} from '../checkpoints/index.js';
import { KEY_SESSION, NO_SESSION, TAG } from './automation.docs.js';
import { labelOrNull, pathOrNull, type Vault } from './contents.js';
import { CurrentVault, NeedsKeySession } from './key-sessions.controller.js';
import { SEND_TIMEOUT_MS } from './note-answer.js';

type Summary = Awaited<ReturnType<Projections['summary']>>;

/** A checkpoint with its label in plaintext; null when the label cannot be decrypted with this key. */
export interface NoteCheckpoint extends Omit<Checkpoint, 'encryptedLabel'> {
  readonly label: string | null;
}

type Entry = Omit<Summary['entries'][number], 'encryptedPath'>;

/** The changes up to a checkpoint; `path` is null when it cannot be decrypted with this key. */
export interface NoteSummary extends Omit<Summary, 'entries'> {
  readonly entries: ({ readonly path: string | null } & Entry)[];
}

/** Checkpoints with plaintext labels and paths. */
@Injectable()
export class NoteCheckpoints {
  constructor(
    private readonly checkpoints: Checkpoints,
    private readonly projections: Projections,
    private readonly clock: Clock,
  ) {}

  /** Marks the head of the log. */
  async create({ workspaceId, keys }: Vault, label: string): Promise<NoteCheckpoint> {
    const encryptedLabel = await encryptLabel(keys, label);
    const { id, ...made } = await this.checkpoints.create(workspaceId, encryptedLabel, 'manual');
    return { id, label, kind: made.kind, cursor: made.cursor, createdAt: made.createdAt };
  }

  /** Lists by cursor, highest first, and newest first among equal cursors, page by page. Needs the keys until the last page. */
  async *list({ workspaceId, keys }: Vault): AsyncGenerator<NoteCheckpoint[], void> {
    for await (const page of this.checkpoints.list(workspaceId))
      yield await this.each(page, async ({ encryptedLabel, id, ...rest }) => ({
        id,
        label: await labelOrNull(keys, encryptedLabel),
        ...rest,
      }));
  }

  /** Like the projection of the log. @throws NotFound, BadRequest, Conflict */
  async summary(vault: Vault, id: string, fromCursor?: number): Promise<NoteSummary> {
    const { entries, ...window } = await this.projections.summary(vault, id, fromCursor);
    const opened = await this.each(entries, ({ encryptedPath, ...entry }) => ({
      path: pathOrNull(vault.keys, encryptedPath),
      ...entry,
    }));
    return { ...window, entries: opened };
  }

  private async each<From, To>(rows: readonly From[], open: (row: From) => To | Promise<To>): Promise<To[]> {
    const turns = new EventLoopYield(this.clock);
    const opened: To[] = [];
    for (const row of rows) {
      opened.push(await open(row));
      await turns.pause();
    }
    return opened;
  }
}

const { id, kind, cursor, createdAt } = CHECKPOINT_FIELDS;
const FIELDS = { id, label: nullable(STRING), kind, cursor, createdAt };

const CHECKPOINT = named('NoteCheckpoint', objectOf<NoteCheckpoint>(FIELDS));
const LIST_OF_CHECKPOINTS = objectOf({ checkpoints: arrayOf(CHECKPOINT) });
const CREATED_CHECKPOINT = objectOf({ ...FIELDS, workspaceId: UUID });

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
      path: OF_CHECKPOINT,
      headers: KEY_SESSION,
      query: { fromCursor: { description: 'The exclusive start of the window.', schema: COUNT } },
      answers: {
        200: json('each path that changed', SUMMARY),
        400: 'fromCursor is not a cursor, or is above the cursor of the checkpoint',
        ...NO_SESSION,
        404: 'checkpoint not found',
        409: COMPACTED,
      },
    },
  },
} as const;

/** The longest label whose envelope fits: 8,192 characters of base64, minus 61 bytes. */
const MAX_LABEL_BYTES = 6_083;

const isLabel = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && Buffer.byteLength(value, 'utf8') <= MAX_LABEL_BYTES;

class CreateNoteCheckpointRequest {
  @ValidateBy(
    { name: 'isLabel', validator: { validate: isLabel } },
    { message: `label must be 1 to ${MAX_LABEL_BYTES} bytes of UTF-8 text` },
  )
  label: string;
}

@Controller('api/v1/automation/workspaces/:id/checkpoints')
@Documented(NOTE_CHECKPOINTS_DOCS)
@OwnedWorkspace()
@RequiresSubscription()
@NeedsKeySession()
export class NoteCheckpointsController {
  constructor(private readonly checkpoints: NoteCheckpoints) {}

  @Post()
  @Scopes('documents:write')
  async create(
    @CurrentVault() vault: Vault,
    @JsonBody() { label }: CreateNoteCheckpointRequest,
  ): Promise<NoteCheckpoint & { workspaceId: string }> {
    const { id, ...rest } = await this.checkpoints.create(vault, label);
    return { id, workspaceId: vault.workspaceId, ...rest };
  }

  @Get()
  @Scopes('documents:read')
  async list(@CurrentVault() vault: Vault, @Res() reply: FastifyReply): Promise<void> {
    const form = { before: '{"checkpoints":[', after: ']}' };
    await sendJsonList(reply, this.checkpoints.list(vault), form);
    const timer = setTimeout(() => reply.raw.destroy(), SEND_TIMEOUT_MS);
    try {
      await reply; // the keys are wiped when this returns
    } finally {
      clearTimeout(timer);
    }
  }

  @Get(':cpId/summary')
  @Scopes('documents:read')
  summary(
    @CurrentVault() vault: Vault,
    @Param('cpId') id: string,
    @FromCursor() fromCursor: number | undefined,
  ): Promise<NoteSummary> {
    return this.checkpoints.summary(vault, id, fromCursor);
  }
}
