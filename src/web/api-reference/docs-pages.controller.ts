import { Controller, Get, Headers, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../../access/index.js';
import { contentPolicy } from '../layout/index.js';
import { NotFound } from '../../platform/http/index.js';
import { Documented, page } from '../../platform/api-docs/index.js';
import { DocsPages, INDEX } from './docs-pages.js';
import { IF_NONE_MATCH, KEPT, sendKept } from './kept.js';

const DOCS_PAGES_DOCS = {
  tag: 'Pages',
  operations: {
    index: {
      summary: 'Show the operations of the API',
      headers: IF_NONE_MATCH,
      answers: { 200: page('the page, which loads nothing from other hosts'), ...KEPT },
    },
    group: {
      summary: 'Show a group of operations in full',
      path: { group: { description: 'The name of a tag, as in `access-tokens`, or `schemas`.' } },
      headers: IF_NONE_MATCH,
      answers: { 200: page('the page'), ...KEPT, 404: 'there is no such group' },
    },
  },
} as const;

/** The API document for people. The same for everybody. */
@Controller('docs')
@Documented(DOCS_PAGES_DOCS)
@Public('describes the API; contains no user data')
export class DocsPagesController {
  constructor(private readonly pages: DocsPages) {}

  @Get()
  async index(
    @Headers('if-none-match') known: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.send(reply, known, INDEX);
  }

  @Get(':group')
  async group(
    @Param('group') slug: string,
    @Headers('if-none-match') known: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.send(reply, known, slug);
  }

  private async send(reply: FastifyReply, known: string | undefined, slug: string): Promise<void> {
    const found = await this.pages.page(slug);
    if (!found) throw new NotFound('not found');
    reply.header('content-security-policy', contentPolicy(["'self'"])); // its search form leads to the index
    await sendKept(reply, known, 'text/html; charset=utf-8', found);
  }
}
