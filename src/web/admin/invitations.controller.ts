import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Invitations } from '../../domain/accounts/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { KillSwitch, OpenWhenReadOnly } from '../../platform/kill-switch/index.js';
import { AdminDoor } from './admin-door.js';
import { INVITATIONS_DOCS } from './admin-pages.docs.js';
import { AdminErrorFilter } from './hidden.js';
import { invitationsView, invitedView } from './invitations-view.js';

const INVITATIONS = '/admin/invitations';

/** Invitations, for administrators. */
@Controller('admin/invitations')
@Documented(INVITATIONS_DOCS)
@Public('AdminDoor admits administrators; for everybody else there is nothing here')
@OpenWhenReadOnly('hidden from everybody else; inviting is refused by itself')
@UseFilters(AdminErrorFilter)
export class InvitationsController {
  constructor(
    private readonly door: AdminDoor,
    private readonly invitations: Invitations,
    private readonly killSwitch: KillSwitch,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.show(request, reply, async ({ csrfToken, query }) => ({
      title: 'Invitations',
      section: 'Invitations',
      notice: query.text('done') === 'revoke' ? 'The invitation is revoked.' : undefined,
      content: await invitationsView(this.invitations, csrfToken),
    }));
  }

  /** Answers with a page, not with a redirect: the link is shown once. */
  @Post()
  async invite(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.act(request, reply, async ({ form, by }) => {
      this.killSwitch.refuseWhen('read-only');
      return invitedView(await this.invitations.invite(form.text('email'), by));
    });
  }

  @Post('revoke')
  async revoke(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.act(request, reply, async ({ form, by }) => {
      await this.invitations.revoke(form.text('email'), by);
      return { location: `${INVITATIONS}?done=revoke` };
    });
  }
}
