import { Controller, Delete, Get, Put, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessCheckedInStatement, CurrentWorkspace, OwnedWorkspace, RequiresSubscription, Scopes, Transfer, type WorkspaceRef } from '../../access/index.js';
import { sendJsonList } from '../../platform/http/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Download } from './download.js';
import {
  ContentHash,
  DeviceId,
  EncryptedPath,
  type Precondition,
  UploadPrecondition,
} from './file-headers.js';
import { FILES_DOCS, fileWire, uploadedWire, type UploadedWire } from './files.docs.js';
import { Files } from './files.service.js';
import { FileContentLoader } from './file-content-loader.js';
import { UploadAdmission } from './upload-admission.js';

@Controller('api/v1/workspaces/:id/files')
@Documented(FILES_DOCS)
@OwnedWorkspace()
export class FilesController {
  constructor(
    private readonly files: Files,
    private readonly contentLoader: FileContentLoader,
    private readonly download: Download,
    private readonly admission: UploadAdmission,
  ) {}

  @Get()
  @Scopes('documents:read')
  async list(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const form = { before: '{"files":[', after: ']}', wire: fileWire };
    await sendJsonList(request, reply, this.files.list(workspace.id), form);
  }

  @Transfer()
  @Put(':encPath')
  @Scopes('documents:write')
  @RequiresSubscription()
  @AccessCheckedInStatement()
  async put(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @ContentHash() contentHash: string,
    @DeviceId() deviceId: string,
    @UploadPrecondition() precondition: Precondition,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UploadedWire> {
    const { id: workspaceId, caller } = workspace;
    const upload = { workspaceId, caller, encryptedPath, contentHash, deviceId, precondition };
    const uploaded = await this.admission.admit(request.raw, upload, (body) =>
      this.files.upload(upload, body),
    );
    reply.status(uploaded.isNew ? 201 : 200);
    return uploadedWire(upload, uploaded);
  }

  @Transfer()
  @Get(':encPath')
  @Scopes('documents:read')
  @AccessCheckedInStatement()
  async get(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.download.send(request, reply, await this.contentLoader.content(workspace, encryptedPath));
  }

  @Transfer()
  @Delete(':encPath')
  @Scopes('documents:write')
  @RequiresSubscription()
  async delete(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @DeviceId() deviceId: string,
  ): Promise<{ ok: true }> {
    await this.files.delete(workspace.id, encryptedPath, deviceId);
    return { ok: true };
  }
}
