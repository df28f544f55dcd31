import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { Invitations, type NewInvitation } from '../../domain/accounts/index.js';
import { page } from '../../platform/api-docs/index.js';
import { KillSwitch, OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { CopyField, Field, formDocs, PostForm, Time } from '../layout/index.js';
import { ACTED, AdminDoor, AdminPages, SHOWN } from './admin-door.js';
import type { AdminPage } from './admin-layout.js';

const LISTED = 200;

export async function invitationsView(invitations: Invitations, csrfToken: string): Promise<VNode> {
  const open = await invitations.open(LISTED);
  return (
    <>
      <PostForm action="/admin/invitations" csrfToken={csrfToken} label="Invite">
        <Field
          id="email"
          name="email"
          label="Email address"
          type="email"
          hint="The link works once, for seven days, and only for this address."
        />
        <button type="submit">Invite</button>
      </PostForm>
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
              <PostForm
                action="/admin/invitations/revoke"
                csrfToken={csrfToken}
                fields={{ email }}
                label={`Revoke the invitation of ${email}`}
              >
                <button type="submit" class="quiet">
                  Revoke
                </button>
              </PostForm>
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

@AdminPages('admin/invitations', {
  show: { summary: 'List the open invitations, for administrators', answers: SHOWN },
  invite: formDocs('Invite somebody, for administrators', {
    200: page('the link, which is shown only once'),
    ...ACTED,
  }),
  revoke: formDocs('Revoke an invitation, for administrators', ACTED),
})
@OpenWhenReadOnly('hidden from everybody else; inviting is refused by itself')
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
      return { location: '/admin/invitations?done=revoke' };
    });
  }
}
