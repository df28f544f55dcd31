import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CurrentWorkspace, OwnedWorkspace, Scopes, type WorkspaceRef } from '../access/index.js';
import { sendJsonText } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { clampTextLimit, pageCursorIn } from './limits.js';
import { Pages } from './pages.service.js';
import { TRASH_DOCS } from './trash.docs.js';

@Controller('api/v1/workspaces/:id/trash')
@Documented(TRASH_DOCS)
@OwnedWorkspace()
export class TrashController {
  constructor(private readonly pages: Pages) {}

  @Get()
  @Scopes('documents:read')
  async list(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Query('limit') limit: unknown,
    @Query('pageCursor') pageCursor: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const page = await this.pages.trash(workspace, pageCursorIn(pageCursor), clampTextLimit(limit));
    await sendJsonText(request, reply, page);
  }
}
