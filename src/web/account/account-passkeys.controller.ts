import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { byUser } from '../../domain/auth/audit/index.js';
import { Passkeys, ProviderLinks } from '../../domain/auth/index.js';
import { asName, NotFound } from '../../platform/http/index.js';
import { formDocs, NAME_FAULT, PublicPages, redirect } from '../layout/index.js';
import { ACCOUNT, AccountForms, DONE_OR_AGAIN, LEAVE_ANY } from './account-forms.js';

const LAST_WAY = 'This passkey is the only way to sign in to your account, so it cannot be removed.';

const FORMS: readonly string[] = ['confirm', 'rename', 'remove'];

const OF_PASSKEY = { ...DONE_OR_AGAIN, 404: 'passkey not found' };

/** The account page's forms for passkeys; a script adds passkeys, over the API. */
@PublicPages('account/passkeys', {
  leave: LEAVE_ANY,
  confirm: formDocs('Give the password again', DONE_OR_AGAIN),
  rename: formDocs('Rename a passkey', OF_PASSKEY),
  remove: formDocs('Remove a passkey', OF_PASSKEY),
})
export class AccountPasskeysController {
  constructor(
    private readonly forms: AccountForms,
    private readonly passkeys: Passkeys,
  ) {}

  /** GET of a form's address, for example on a reload: redirects to /account. */
  @Get(':form')
  async leave(@Param('form') form: string, @Res() reply: FastifyReply): Promise<void> {
    if (!FORMS.includes(form)) throw new NotFound('not found');
    await redirect(reply, ACCOUNT);
  }

  /** The form after which passkeys can be added and removed for ten minutes. */
  @Post('confirm')
  async confirm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.actConfirmed(request, reply, () => Promise.resolve({}));
  }

  @Post('rename')
  async rename(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async (posted) => {
      const name = posted.form.text('name');
      if (asName(name) === undefined) return this.forms.again(posted, { alert: NAME_FAULT });
      await this.passkeys.rename(posted.session.userId, posted.form.text('id'), name);
      return {};
    });
  }

  @Post('remove')
  async remove(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.actConfirmed(request, reply, async (posted) => {
      const { session, form, browserRequest } = posted;
      const actor = { userId: session.userId, ...browserRequest.client };
      const isRemoved = await this.passkeys.remove(actor, form.text('id'));
      return isRemoved ? {} : this.forms.again(posted, { alert: LAST_WAY });
    });
  }
}

/** The account page's form that ends the link to the provider of single sign-on. */
@PublicPages('account/single-sign-on/disconnect', {
  disconnect: formDocs(
    'Disconnect the account from single sign-on',
    {
      ...DONE_OR_AGAIN,
      404: 'the account is not linked to single sign-on',
      409: 'it is the only way to sign in to the account',
    },
    'Needs the password unless it was given in the last ten minutes. Ends all other sessions.',
  ),
})
export class AccountProviderController {
  constructor(
    private readonly forms: AccountForms,
    private readonly links: ProviderLinks,
  ) {}

  @Post()
  async disconnect(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.actConfirmed(request, reply, async (posted) => {
      const { userId, id } = posted.session;
      await this.links.unlink(userId, byUser(request), id);
      return { done: 'unlinked' };
    });
  }
}
