import { Controller, Get, Param, Res } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { readFileSync } from 'node:fs';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { NotFound } from '../../platform/http/index.js';

export interface PageAsset {
  /** Contains a hash of the content, so that it may be cached forever. */
  readonly name: string;
  readonly type: string;
  readonly content: Buffer;
}

function read(file: string, type: string): PageAsset {
  const content = readFileSync(new URL(`./assets/${file}`, import.meta.url));
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  return { name: file.replace('.', `-${hash}.`), type, content };
}

export const STYLESHEET = read('page.css', 'text/css; charset=utf-8');
export const SCRIPT = read('page.js', 'text/javascript; charset=utf-8');
/** Loaded only by pages with passkeys. */
export const PASSKEY_SCRIPT = read('passkeys.js', 'text/javascript; charset=utf-8');
export const ICON = read('icon.svg', 'image/svg+xml');

/** Loaded by the pages of the API document, in addition to those of all pages. */
export const DOCS_STYLESHEET = read('docs.css', 'text/css; charset=utf-8');
export const DOCS_SCRIPT = read('docs.js', 'text/javascript; charset=utf-8');

export const PAGE_ASSETS: readonly PageAsset[] = [
  STYLESHEET,
  SCRIPT,
  PASSKEY_SCRIPT,
  ICON,
  DOCS_STYLESHEET,
  DOCS_SCRIPT,
];

export const assetPath = ({ name }: PageAsset): string => `/auth/assets/${name}`;

@Controller('auth/assets')
@Documented({
  tag: 'Pages',
  operations: {
    get: {
      summary: 'Get a stylesheet, script or icon of the pages',
      path: { name: { description: 'The file name, which contains a hash of the content.' } },
      answers: {
        200: {
          description: 'the stylesheet, script or icon',
          content: { 'text/css': {}, 'text/javascript': {}, 'image/svg+xml': {} },
        },
        404: 'there is no such file',
      },
    },
  },
})
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
