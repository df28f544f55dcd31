import { Controller, Get, HttpCode, Post, Res } from '@nestjs/common';
import { IsString } from 'class-validator';
import type { FastifyReply } from 'fastify';
import { encryptPath } from '../../../crypto/src/index.js';
import { OwnedWorkspace, RequiresSubscription, Scopes } from '../../access/index.js';
import {
  arrayOf,
  COUNT,
  Documented,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  ORDINAL,
  SHA256_HEX,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';
import { BadRequest, fromRequest, JsonBody, sendJsonList } from '../../platform/http/index.js';
import { type Version, type VersionContent, Versions } from '../files/index.js';
import { KEY_SESSION, NO_SESSION, OF_NOTE, TAG, WRITING } from './automation.docs.js';
import { Contents, plaintextSize, type Vault } from './contents.js';
import { CurrentVault, NeedsKeySession } from './key-sessions.controller.js';
import { sendNote } from './note-answer.js';
import { NotePath, WritingDevice } from './notes.service.js';

function noteVersionWire(version: Version) {
  return {
    versionId: version.id,
    version: version.version,
    size: plaintextSize(version.encryptedSize),
    contentHash: version.contentHash,
    deviceId: version.deviceId,
    createdAt: version.createdAt,
    changeCursor: version.changeCursor,
  };
}

/** With a placeholder for the content. */
function noteVersionContentWire(path: string, { version, contentHash, createdAt }: VersionContent) {
  return { path, content: '' as const, version, contentHash, createdAt };
}

class RestoreNoteRequest {
  @IsString({ message: 'versionId must be a string' })
  versionId: string;
}

/** Optional `version`: the id of one version. */
const VersionQuery = fromRequest(({ query }) => {
  const { version } = query as { version?: unknown };
  if (version === undefined || typeof version === 'string') return version;
  throw new BadRequest('version must be a version id');
});

const VERSION = named(
  'NoteVersion',
  objectOf<ReturnType<typeof noteVersionWire>>({
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
  objectOf<ReturnType<typeof noteVersionContentWire>>({
    path: STRING,
    content: STRING,
    version: ORDINAL,
    contentHash: SHA256_HEX,
    createdAt: INSTANT,
  }),
);

const HISTORY_DOCS = {
  tag: TAG,
  operations: {
    get: {
      id: 'automation.getHistory',
      summary: 'List the versions of a note, or get one with its content',
      path: OF_NOTE,
      headers: KEY_SESSION,
      query: { version: { description: 'The id of a version.', schema: UUID } },
      answers: {
        200: json('the versions, newest first; with `version`, only that version', {
          anyOf: [objectOf({ versions: arrayOf(VERSION) }), VERSION_CONTENT],
        }),
        400: 'the path or a query parameter is invalid',
        ...NO_SESSION,
        404: 'the path has never existed, or has no such version',
        409: 'the content cannot be decrypted with this key, or is not text',
      },
    },
    restore: {
      id: 'automation.restoreNote',
      summary: 'Restore an old version of a note as the newest',
      path: OF_NOTE,
      headers: WRITING,
      answers: {
        200: json('the new version', objectOf({ path: STRING, version: ORDINAL, contentHash: SHA256_HEX })),
        ...NO_SESSION,
        404: 'the note has no such version',
      },
    },
  },
} as const;

@Controller('api/v1/automation/workspaces/:id')
@Documented(HISTORY_DOCS)
@OwnedWorkspace()
@RequiresSubscription()
@NeedsKeySession()
export class HistoryController {
  constructor(
    private readonly versions: Versions,
    private readonly contents: Contents,
  ) {}

  @Get('history/*')
  @Scopes('documents:read')
  async get(
    @CurrentVault() vault: Vault,
    @NotePath() path: string,
    @VersionQuery() versionId: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { workspaceId, keys } = vault;
    const encryptedPath = encryptPath(keys, path);
    if (versionId === undefined) {
      const form = { before: '{"versions":[', after: ']}', wire: noteVersionWire };
      await sendJsonList(reply, this.versions.list(workspaceId, encryptedPath), form);
      return;
    }
    const version = await this.versions.content(workspaceId, encryptedPath, versionId);
    const opened = await this.contents.open(vault, encryptedPath, version);
    sendNote(reply, noteVersionContentWire(path, version), opened);
  }

  @Post('restore/*')
  @HttpCode(200)
  @Scopes('documents:write')
  async restore(
    @CurrentVault() { workspaceId, keys }: Vault,
    @NotePath() path: string,
    @WritingDevice() deviceId: string,
    @JsonBody() { versionId }: RestoreNoteRequest,
  ): Promise<{ path: string; version: number; contentHash: string }> {
    const encryptedPath = encryptPath(keys, path);
    const restored = await this.versions.restore(workspaceId, encryptedPath, versionId, deviceId);
    return { path, version: restored.version, contentHash: restored.contentHash };
  }
}
