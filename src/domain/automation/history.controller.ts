import { Controller, Get, HttpCode, Injectable, Post, Req, Res } from '@nestjs/common';
import { IsString } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
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
import { type Restored, type Version, type VersionContent, Versions } from '../files/index.js';
import { KEY_SESSION, NO_SESSION, OF_NOTE, TAG, WRITING } from './automation.docs.js';
import { Contents, type OpenedContent, plaintextSize, type Vault } from './contents.js';
import { CurrentVault, NeedsKeySession } from './key-sessions.controller.js';
import { sendNote } from './note-answer.js';
import { NotePath, WritingDevice } from './notes.service.js';
import { encryptPath } from './vault-crypto.js';

/** The version history of a note, including deleted notes. */
@Injectable()
export class NoteHistory {
  constructor(
    private readonly versions: Versions,
    private readonly contents: Contents,
  ) {}

  /** Lists versions newest first, page by page. @throws NotFound for an unknown path */
  list({ workspaceId, keys }: Vault, path: string): AsyncGenerator<Version[], void> {
    return this.versions.list(workspaceId, encryptPath(keys, path));
  }

  /** @throws NotFound for a version that does not belong to this path, and whatever reading a note throws */
  async read(
    vault: Vault,
    path: string,
    versionId: string,
  ): Promise<{ version: VersionContent } & OpenedContent> {
    const encryptedPath = encryptPath(vault.keys, path);
    const version = await this.versions.content(vault.workspaceId, encryptedPath, versionId);
    return { version, ...(await this.contents.open(vault, encryptedPath, version)) };
  }

  /** Makes an old version the newest by adding exactly one version; a deleted note becomes live again. @throws NotFound */
  restore(
    { workspaceId, keys }: Vault,
    path: string,
    versionId: string,
    deviceId: string,
  ): Promise<Restored> {
    return this.versions.restore(workspaceId, encryptPath(keys, path), versionId, deviceId);
  }
}

interface NoteVersionWire {
  versionId: string;
  version: number;
  /** Bytes of plaintext. */
  size: number;
  contentHash: string;
  deviceId: string | null;
  createdAt: string;
  changeCursor: number | null;
}

interface NoteVersionContentWire {
  path: string;
  content: '';
  version: number;
  contentHash: string;
  createdAt: string;
}

function noteVersionWire(version: Version): NoteVersionWire {
  return {
    versionId: version.id,
    version: version.version,
    size: plaintextSize(version.encryptedSize),
    contentHash: version.contentHash,
    deviceId: version.deviceId,
    createdAt: version.createdAt.toISOString(),
    changeCursor: version.changeCursor,
  };
}

/** With a placeholder for the content. */
function noteVersionContentWire(path: string, version: VersionContent): NoteVersionContentWire {
  const { contentHash, createdAt } = version;
  return { path, content: '', version: version.version, contentHash, createdAt: createdAt.toISOString() };
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
          anyOf: [objectOf<{ versions: unknown }>({ versions: arrayOf(VERSION) }), VERSION_CONTENT],
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
        200: json(
          'the new version',
          objectOf<Record<'path' | 'version' | 'contentHash', unknown>>({
            path: STRING,
            version: ORDINAL,
            contentHash: SHA256_HEX,
          }),
        ),
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
  constructor(private readonly history: NoteHistory) {}

  @Get('history/*')
  @Scopes('documents:read')
  async get(
    @CurrentVault() vault: Vault,
    @NotePath() path: string,
    @VersionQuery() versionId: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (versionId === undefined) {
      const form = { before: '{"versions":[', after: ']}', wire: noteVersionWire };
      await sendJsonList(request, reply, this.history.list(vault, path), form);
      return;
    }
    const opened = await this.history.read(vault, path, versionId);
    sendNote(reply, noteVersionContentWire(path, opened.version), opened);
  }

  @Post('restore/*')
  @HttpCode(200)
  @Scopes('documents:write')
  async restore(
    @CurrentVault() vault: Vault,
    @NotePath() path: string,
    @WritingDevice() deviceId: string,
    @JsonBody() { versionId }: RestoreNoteRequest,
  ): Promise<{ path: string; version: number; contentHash: string }> {
    const { version, contentHash } = await this.history.restore(vault, path, versionId, deviceId);
    return { path, version, contentHash };
  }
}
