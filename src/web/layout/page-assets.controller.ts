import { Controller, Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../../access/index.js';
import { NotFound } from '../../platform/http/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { PAGE_ASSETS_DOCS } from './pages.docs.js';
import { PAGE_ASSETS } from './page-assets.js';

@Controller('auth/assets')
@Documented(PAGE_ASSETS_DOCS)
export class PageAssetsController {
  /** Cached permanently: different content has a different name. */
  @Get(':name')
  @Public('stylesheet, script and icon of the pages, the same for everybody')
  async get(@Param('name') name: string, @Res() reply: FastifyReply): Promise<void> {
    const asset = PAGE_ASSETS.find((one) => one.name === name);
    if (!asset) throw new NotFound('not found');
    await reply
      .type(asset.type)
      .header('cache-control', 'public, max-age=31536000, immutable')
      .send(asset.content);
  }
}
