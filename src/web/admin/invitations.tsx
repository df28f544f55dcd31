import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { Public } from '../../access/index.js';
import { Invitations, type NewInvitation } from '../../domain/accounts/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { KillSwitch, OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { CopyField, Field, Hidden, Time } from '../layout/index.js';
import { AdminDoor, AdminErrorFilter } from './admin-door.js';
import { AdminForm, type AdminPage } from './admin-layout.js';
import { INVITATIONS_DOCS } from './admin-pages.docs.js';

/** Open invitations listed, at most. */
const LISTED = 200;

export async function invitationsView(invitations: Invitations, csrfToken: string): Promise<VNode> {
  const open = await invitations.open(LISTED);
  return (
    <>
      <AdminForm action="/admin/invitations" csrfToken={csrfToken} label="Invite">
        <Field
          id="email"
          name="email"
          label="Email address"
          type="email"
          autocomplete="off"
          hint="The link works once, for seven days, and only for this address."
        />
        <button type="submit">Invite</button>
      </AdminForm>
      <section aria-labelledby="open">
        <h2 id="open">Open invitations</h2>
        {open.length === 0 && <p class="hint">There is none.</p>}
        {open.length === LISTED && (
          <p class="hint">There may be older ones. The newest {LISTED} are shown.</p>
        )}
        <ul class="things">
          {open.map(({ email, expiresAt }) => (
            <li key={email}>
              <div>
                <p>{email}</p>
                <p class="hint">
                  Until <Time at={expiresAt} />
                </p>
              </div>
              <AdminForm
                action="/admin/invitations/revoke"
                csrfToken={csrfToken}
                label={`Revoke the invitation of ${email}`}
              >
                <Hidden fields={{ email }} />
                <button type="submit" class="quiet">
                  Revoke
                </button>
              </AdminForm>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

/** The page that shows the link of a new invitation, once. */
export function invitedView({ email, link, expiresAt, isMailed }: NewInvitation): AdminPage {
  return {
    title: 'Invited',
    section: 'Invitations',
    content: (
      <>
        <p>
          {isMailed
            ? `A mail with this link is on its way to ${email}. Pass the link on if the mail does not arrive.`
            : `Send this link to ${email}.`}{' '}
          It works once, until <Time at={expiresAt} />.
        </p>
        <div class="field new-token">
          <label for="link">The link. It is not shown again.</label>
          <CopyField id="link" value={link} />
        </div>
        <p>
          <a href="/admin/invitations">Back to the invitations</a>
        </p>
      </>
    ),
  };
}

const INVITATIONS = '/admin/invitations';

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
