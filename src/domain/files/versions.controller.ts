import { Controller, Get, HttpCode, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CurrentWorkspace, OwnedWorkspace, Scopes, Transfer, type WorkspaceRef } from '../../access/index.js';
import {
  arrayOf,
  COUNT,
  Documented,
  INSTANT,
  json,
  matching,
  named,
  nullable,
  objectOf,
  ORDINAL,
  SHA256_HEX,
  UUID,
} from '../../platform/api-docs/index.js';
import { DEVICE_ID } from '../devices/index.js';
import { sendJsonList } from '../../platform/http/index.js';
import { Download } from './files.controller.js';
import { EncryptedPath, OptionalDeviceId } from './file-headers.js';
import { DOWNLOAD_ANSWERS, DOWNLOAD_HEADERS, IN_PATH } from './files.docs.js';
import { type Restored, type Version, Versions } from './versions.service.js';

/** The contract mixes cases: snake_case with one camelCase key. */
function versionWire(version: Version) {
  return {
    id: version.id,
    version: version.version,
    content_hash: version.contentHash,
    encrypted_size: version.encryptedSize,
    device_id: version.deviceId,
    created_at: version.createdAt,
    changeCursor: version.changeCursor,
  };
}

type RestoredFile = Omit<Restored, 'fileId'> & { readonly id: string };

const VERSION = named(
  'Version',
  objectOf<ReturnType<typeof versionWire>>({
    id: UUID,
    version: ORDINAL,
    content_hash: SHA256_HEX,
    encrypted_size: COUNT,
    device_id: nullable(matching(DEVICE_ID)),
    created_at: INSTANT,
    changeCursor: nullable(ORDINAL),
  }),
);

const RESTORED = named(
  'RestoredFile',
  objectOf<RestoredFile>({ id: UUID, version: ORDINAL, contentHash: SHA256_HEX, encryptedSize: COUNT }),
);

const OF_VERSION = { ...IN_PATH, vid: { description: 'The id of a version.', schema: UUID } } as const;

const VERSIONS_DOCS = {
  tag: 'Versions',
  operations: {
    list: {
      summary: 'List the versions of a file, newest first',
      description: 'The versions of deleted files are listed too. Old versions are thinned out over time.',
      path: IN_PATH,
      answers: {
        200: json('all versions that are kept', objectOf({ versions: arrayOf(VERSION) })),
        400: 'the path is invalid',
        404: 'the path has never existed',
      },
    },
    get: {
      id: 'versions.download',
      summary: 'Download a version',
      path: OF_VERSION,
      headers: DOWNLOAD_HEADERS,
      answers: { ...DOWNLOAD_ANSWERS, 400: 'the path is invalid', 404: 'version not found' },
    },
    restore: {
      summary: 'Restore an old version of a file as the newest',
      description:
        'Creates exactly one new version, which shares the bytes of the old one. A deleted file becomes live again.',
      path: OF_VERSION,
      headers: {
        'X-Device-Id': {
          description:
            'The device that restores and is not notified of the change. Without this header, every device is notified.',
          schema: matching(DEVICE_ID),
        },
      },
      answers: {
        200: json('the new version; `id` is the id of the file', RESTORED),
        400: 'the path or X-Device-Id is invalid',
        404: 'version not found',
      },
    },
  },
} as const;

@Controller('api/v1/workspaces/:id/files/:encPath')
@Documented(VERSIONS_DOCS)
@OwnedWorkspace()
export class VersionsController {
  constructor(
    private readonly versions: Versions,
    private readonly download: Download,
  ) {}

  @Get('versions')
  @Scopes('documents:read')
  async list(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const form = { before: '{"versions":[', after: ']}', wire: versionWire };
    await sendJsonList(reply, this.versions.list(workspace.id, encryptedPath), form);
  }

  @Transfer()
  @Get('versions/:vid')
  @Scopes('documents:read')
  async get(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @Param('vid') versionId: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const content = await this.versions.content(workspace.id, encryptedPath, versionId);
    await this.download.send(reply, content);
  }

  @Post('restore/:vid')
  @HttpCode(200)
  @Scopes('documents:write')
  async restore(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @Param('vid') versionId: string,
    @OptionalDeviceId() deviceId: string | null,
  ): Promise<RestoredFile> {
    const { fileId, ...version } = await this.versions.restore(
      workspace.id,
      encryptedPath,
      versionId,
      deviceId,
    );
    return { id: fileId, ...version };
  }
}
