import { Controller, Get, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../access/index.js';
import { Configuration } from '../config/index.js';
import { Documented } from '../api-docs/index.js';
import { HOME_DOCS } from './pages.docs.js';
import { homePage } from './home-page.js';
import { sendPage } from './page.js';
import { PageErrorFilter } from './page-error.filter.js';
import { README } from './readme.js';

/** Extension of the contract: the address of the service itself says what it is, to programs too. */
@Controller()
@Documented(HOME_DOCS)
@Public('says what this is, and nothing about anybody')
@UseFilters(PageErrorFilter)
export class HomeController {
  constructor(private readonly configuration: Configuration) {}

  @Get()
  async home(@Res() reply: FastifyReply): Promise<void> {
    await sendPage(reply, { content: homePage({ host: this.configuration.publicHost }) });
  }

  @Get('readme')
  async readme(@Res() reply: FastifyReply): Promise<void> {
    await reply.type('text/plain; charset=utf-8').send(README);
  }
}
