import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { EmailChange } from '../../domain/auth/index.js';
import { PageErrorFilter } from '../layout/index.js';
import { ConfirmForms, type ConfirmLink } from './confirm-forms.js';
import { NEW_ADDRESS_DOCS } from './mail-pages.docs.js';

/** Extension of the contract: the page behind the link that confirms another address of an account. */
@Controller('account/new-address')
@Documented(NEW_ADDRESS_DOCS)
@Public('the link is the credential; the page has its own origin and form checks')
@UseFilters(PageErrorFilter)
export class NewAddressController {
  private readonly link: ConfirmLink = {
    path: '/account/new-address',
    find: (token) => this.emailChange.find(token),
    trustsSession: true,
    confirm: (token, claim) => this.emailChange.confirm(token, claim),
  };

  constructor(
    private readonly confirmForms: ConfirmForms,
    private readonly emailChange: EmailChange,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.confirmForms.open(request, reply, this.link);
  }

  @Post()
  @HttpCode(200)
  async confirm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.confirmForms.confirm(request, reply, this.link);
  }
}
