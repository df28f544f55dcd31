import { Controller, Get, Headers, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { existsSync, readFileSync } from 'node:fs';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { homePage } from './home-page.js';
import { PageErrorFilter } from './page-error.filter.js';
import { sendPage } from './page.js';
import { prefersHtml } from './prefers-html.js';
import { readmePage } from './readme-page.js';
import { HOME_DOCS } from './pages.docs.js';

/** The readme of this version: next to the pages' files in a bundle, else at the root of the repository. */
const README = readFileSync(placeOf(new URL('./assets/readme.md', import.meta.url)));

function placeOf(bundled: URL): URL {
  return existsSync(bundled) ? bundled : above(new URL('..', import.meta.url));
}

function above(directory: URL): URL {
  const file = new URL('README.md', directory);
  return existsSync(file) ? file : above(new URL('..', directory));
}

/** Extension of the contract: the service's root address says what the service is, for programs as well. */
@Controller()
@Documented(HOME_DOCS)
@Public('describes the service; contains no user data')
@UseFilters(PageErrorFilter)
export class HomeController {
  constructor(private readonly configuration: Configuration) {}

  @Get()
  async home(@Res() reply: FastifyReply): Promise<void> {
    await sendPage(reply, { content: homePage({ host: this.configuration.publicHost }) });
  }

  @Get('readme')
  async readme(@Headers('accept') accept: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    reply.header('vary', 'Accept');
    if (prefersHtml(accept, 'text/plain')) {
      const { publicHost: host } = this.configuration;
      await sendPage(reply, { content: readmePage({ host, text: README.toString() }) });
      return;
    }
    await reply.type('text/plain; charset=utf-8').send(README);
  }
}
