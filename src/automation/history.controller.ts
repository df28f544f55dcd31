import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OwnedWorkspace, RequiresSubscription, Scopes } from '../access/index.js';
import { JsonBody, sendJsonList } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { HISTORY_DOCS } from './history.docs.js';
import { RestoreNoteRequest, VersionQuery } from './history.dto.js';
import { NoteHistory } from './history.service.js';
import { noteVersionContentWire, noteVersionWire } from './history.wire.js';
import { CurrentVault, NeedsKeySession } from './key-session.guard.js';
import { sendNote } from './note-answer.js';
import { NotePath, WritingDevice } from './note-path.js';
import type { Vault } from './vault.js';

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
