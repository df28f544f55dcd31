import { Controller, Get, Param, Post, Req, Res, UseFilters } from '@nestjs/common';
import { isUUID } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { NotFound } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { AccountActions, AccountPages, DONE } from './account-actions.js';
import { AdminDoor, AdminErrorFilter, Hidden } from './admin-door.js';
import { ACCOUNTS_DOCS } from './admin-pages.docs.js';

@Controller('admin')
@Documented(ACCOUNTS_DOCS)
@Public('AdminDoor admits administrators; for everybody else there is nothing here')
@OpenWhenReadOnly(
  'hidden from everybody else; actions that remove or create accounts are refused by themselves',
)
@UseFilters(AdminErrorFilter)
export class AccountsController {
  constructor(
    private readonly door: AdminDoor,
    private readonly pages: AccountPages,
    private readonly actions: AccountActions,
  ) {}

  @Get()
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.show(request, reply, (asked) => this.pages.list(asked));
  }

  /** The form that asks for the password before a page. */
  @Post('confirm')
  async confirm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.act(request, reply, (action) => Promise.resolve(this.door.onwards(action)));
  }

  @Get('accounts/:userId')
  async show(
    @Param('userId') userId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.door.show(request, reply, (asked) => this.pages.one(asked, idIn(userId)));
  }

  @Post('accounts/:userId/:action')
  async act(
    @Param('userId') userId: string,
    @Param('action') name: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (!Object.hasOwn(DONE, name)) throw new Hidden();
    await this.door.act(request, reply, (action) =>
      this.actions.run(name as keyof typeof DONE, idIn(userId), action),
    );
  }
}

/** @throws NotFound */
function idIn(text: string): string {
  if (!isUUID(text)) throw new NotFound('user not found');
  return text.toLowerCase();
}
