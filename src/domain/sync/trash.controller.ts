import { Controller, Get, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CurrentWorkspace, OwnedWorkspace, Scopes, type WorkspaceRef } from '../../access/index.js';
import {
  arrayOf,
  BOOLEAN,
  COUNT,
  Documented,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  ORDINAL,
  SHA256_HEX,
  UUID,
} from '../../platform/api-docs/index.js';
import { sendJsonText } from '../../platform/http/index.js';
import { clampTextLimit, pageCursorIn } from './sync.dto.js';
import { Pages } from './pages.service.js';
import { PAGE_QUERY, PATH } from './sync.controller.js';

const TRASHED_FILE = named(
  'TrashedFile',
  objectOf({
    id: UUID,
    encrypted_path: PATH,
    content_hash: SHA256_HEX,
    encrypted_size: COUNT,
    version: ORDINAL,
    deleted_at: INSTANT,
  }),
);

const TRASH = objectOf({
  files: arrayOf(TRASHED_FILE),
  nextPageCursor: nullable(UUID),
  hasMore: BOOLEAN,
});

const TRASH_DOCS = {
  tag: 'Files',
  operations: {
    list: {
      id: 'files.listTrash',
      summary: 'List the deleted files',
      description: 'Their versions can be listed, downloaded and restored like those of live files.',
      query: PAGE_QUERY,
      answers: { 200: json('a page, ordered by file id', TRASH), 400: 'pageCursor is not a file id' },
    },
  },
} as const;

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
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const page = await this.pages.trash(workspace, pageCursorIn(pageCursor), clampTextLimit(limit));
    await sendJsonText(reply, page);
  }
}
