import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CurrentWorkspace, OwnedWorkspace, Scopes, Transfer, type WorkspaceRef } from '../access/index.js';
import { sendJsonList } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { Download } from './download.js';
import { EncryptedPath, OptionalDeviceId } from './file-headers.js';
import { VERSIONS_DOCS } from './versions.docs.js';
import { Versions } from './versions.service.js';
import { restoredWire, type RestoredWire, versionWire } from './versions.wire.js';

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
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const form = { before: '{"versions":[', after: ']}', wire: versionWire };
    await sendJsonList(request, reply, this.versions.list(workspace.id, encryptedPath), form);
  }

  @Transfer()
  @Get('versions/:vid')
  @Scopes('documents:read')
  async get(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @Param('vid') versionId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const content = await this.versions.content(workspace.id, encryptedPath, versionId);
    await this.download.send(request, reply, content);
  }

  @Post('restore/:vid')
  @HttpCode(200)
  @Scopes('documents:write')
  async restore(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @Param('vid') versionId: string,
    @OptionalDeviceId() deviceId: string | null,
  ): Promise<RestoredWire> {
    return restoredWire(await this.versions.restore(workspace.id, encryptedPath, versionId, deviceId));
  }
}
