import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CurrentPrincipal, Interactive, type Principal, Transfer } from '../../../access/index.js';
import { Documented } from '../../../platform/api-docs/index.js';
import { RecentSignIn } from '../../auth/index.js';
import { ExportDownload } from './export-download.js';

const EXPORT_DOCS = {
  tag: 'Account',
  operations: {
    download: {
      summary: 'Export everything that the service holds of the account',
      description:
        'A tar with the account, its devices, tokens and sessions without secrets, and all workspaces: files, versions, changes, checkpoints and attachments as ciphertext. An export that was cut off lacks `manifest.json`, its last file. docs/reference/export-format.md has the format.',
      answers: {
        200: {
          description: 'the archive',
          content: { 'application/x-tar': {} },
          headers: { 'Content-Disposition': 'A file name with the date.' },
        },
        403: 'the user last signed in more than ten minutes ago, or the token is not a JWT of a session',
        503: 'an export of this account is under way, or too many others are',
      },
    },
  },
} as const;

/** Extension of the contract. */
@Controller('api/v1/auth/me/export')
@Documented(EXPORT_DOCS)
@Interactive()
export class ExportController {
  constructor(
    private readonly exportDownload: ExportDownload,
    private readonly recentSignIn: RecentSignIn,
  ) {}

  @Transfer()
  @Get()
  async download(
    @CurrentPrincipal() principal: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    this.recentSignIn.require(principal);
    if (request.method === 'HEAD') this.exportDownload.head(reply);
    else await this.exportDownload.send(request, reply, principal);
  }
}
