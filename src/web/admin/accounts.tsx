import { Get, Param, Post, Req, Res } from '@nestjs/common';
import { isUUID } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { page } from '../../platform/api-docs/index.js';
import { NotFound } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { formDocs } from '../layout/index.js';
import { AccountActions, AccountPages, DONE } from './account-actions.js';
import { ACTED, AdminDoor, AdminPages, Hidden, SHOWN } from './admin-door.js';

const USER_ID = { userId: { description: 'The id of the account.' } };

@AdminPages('admin', {
  list: {
    summary: 'List the accounts, for administrators',
    query: {
      search: { description: 'Part of an address or a name.' },
      after: { description: 'Only what comes after this.' },
    },
    answers: SHOWN,
  },
  confirm: formDocs('Confirm the password, for administrators', ACTED),
  show: { summary: 'Show an account, for administrators', path: USER_ID, answers: SHOWN },
  act: {
    ...formDocs('Act on an account, for administrators', {
      200: page('the new password, which is shown only once'),
      ...ACTED,
    }),
    path: {
      ...USER_ID,
      action: {
        description:
          'suspend, resume, end-sessions, reset-password, reset-factors, unlink, grant, demote or delete.',
      },
    },
  },
})
@OpenWhenReadOnly(
  'hidden from everybody else; actions that remove or create accounts are refused by themselves',
)
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
