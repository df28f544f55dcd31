import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { byUser } from '../../domain/auth/audit/index.js';
import { BrowserSessions, UserSessions } from '../../domain/auth/index.js';
import { Documented, page } from '../../platform/api-docs/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import {
  ANSWERED,
  FORM,
  ONWARDS,
  PageErrorFilter,
  redirect,
  REFUSED,
  SignInForms,
  SUSPENDED,
} from '../layout/index.js';
import { ACCOUNT, AccountForms } from './account-forms.js';
import { PasswordForm } from './password.js';

const DONE = { body: FORM, answers: { 303: ONWARDS, ...REFUSED } } as const;
const LEAVE = { summary: 'Redirect to the account page', answers: { 303: ONWARDS } } as const;

const ANY_FORM = {
  path: { form: { description: 'Any of the forms below.' } },
  answers: { 303: ONWARDS, 404: 'there is no such form' },
} as const;

export const ACCOUNT_PAGE_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'Show the account page or the sign-in form',
      answers: { 200: page('the page'), 403: SUSPENDED },
    },
    signIn: {
      summary: 'Sign in or sign up',
      body: FORM,
      answers: { 200: page('the page asks for a code of the second factor'), 303: ONWARDS, ...ANSWERED },
    },
    leavePassword: LEAVE,
    changePassword: {
      summary: 'Change the password',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED },
    },
    signOut: { summary: 'Sign out', ...DONE },
    endSession: { summary: 'Revoke a session', ...withAbsent('session not found') },
    endOtherSessions: { summary: 'Revoke all other sessions', ...DONE },
  },
} as const;

export const ACCOUNT_EMAIL_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    leave: LEAVE,
    change: {
      summary: 'Have a link sent to another email address',
      description: 'The answer is the same for an address that has an account.',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED, 404: 'the service cannot send mail' },
    },
  },
} as const;

export const ACCOUNT_NOTICES_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    leave: LEAVE,
    choose: {
      summary: 'Choose which mails are sent',
      description: 'Mails about the security of the account are always sent.',
      body: FORM,
      answers: { 303: ONWARDS, ...REFUSED, 404: 'the service sends no mail that can be turned off' },
    },
  },
} as const;

export const ACCOUNT_BELONGINGS_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    removeDevice: { summary: 'Delete a device', ...withAbsent('device not found') },
    leaveTokens: LEAVE,
    mintToken: {
      summary: 'Create a personal access token',
      body: FORM,
      answers: {
        200: page('the account page with the token, which is shown only once'),
        303: ONWARDS,
        ...ANSWERED,
        404: 'workspace not found',
      },
    },
    revokeToken: { summary: 'Revoke a personal access token', ...withAbsent('token not found') },
    leaveBilling: LEAVE,
    openBilling: {
      summary: 'Open the billing portal or the checkout page',
      body: FORM,
      answers: {
        200: page('a page with the link'),
        303: ONWARDS,
        ...REFUSED,
        409: 'subscriptions are disabled, or the account already has one',
      },
    },
  },
} as const;

export const ACCOUNT_FACTORS_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    leave: { ...LEAVE, ...ANY_FORM },
    setUp: {
      summary: 'Begin to set up the second factor',
      body: FORM,
      answers: { 200: page('a page with the new key'), 303: ONWARDS, ...ANSWERED },
    },
    confirm: {
      summary: 'Turn the second factor on',
      body: FORM,
      answers: {
        200: page('a page with the backup codes, which are shown only once'),
        303: ONWARDS,
        ...ANSWERED,
      },
    },
    renewCodes: {
      summary: 'Replace the backup codes',
      body: FORM,
      answers: {
        200: page('a page with the backup codes, which are shown only once'),
        303: ONWARDS,
        ...ANSWERED,
      },
    },
    remove: { summary: 'Turn the second factor off', body: FORM, answers: { 303: ONWARDS, ...ANSWERED } },
  },
} as const;

export const ACCOUNT_PASSKEYS_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    leave: { ...LEAVE, ...ANY_FORM },
    confirm: { summary: 'Give the password again', body: FORM, answers: { 303: ONWARDS, ...ANSWERED } },
    rename: {
      summary: 'Rename a passkey',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED, 404: 'passkey not found' },
    },
    remove: {
      summary: 'Remove a passkey',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED, 404: 'passkey not found' },
    },
  },
} as const;

export const ACCOUNT_PROVIDER_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    leave: LEAVE,
    disconnect: {
      summary: 'Disconnect the account from single sign-on',
      description: 'Needs the password unless it was given in the last ten minutes. Ends all other sessions.',
      body: FORM,
      answers: {
        303: ONWARDS,
        ...ANSWERED,
        404: 'the account is not linked to single sign-on',
        409: 'it is the only way to sign in to the account',
      },
    },
  },
} as const;

export const ACCOUNT_CHANGES_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    leaveName: LEAVE,
    leaveWorkspaceName: LEAVE,
    leaveWorkspaces: LEAVE,
    leaveExport: LEAVE,
    leaveDelete: LEAVE,
    rename: { summary: 'Change the name', body: FORM, answers: { 303: ONWARDS, ...ANSWERED } },
    startTrial: {
      summary: 'Start the trial',
      body: FORM,
      answers: { ...DONE.answers, 409: 'the trial was started before, or subscriptions are disabled' },
    },
    renameWorkspace: {
      summary: 'Rename a workspace',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED, 404: 'workspace not found' },
    },
    deleteWorkspace: {
      summary: 'Delete a workspace',
      description:
        'Needs the name of the workspace, and the password unless it was given in the last ten minutes.',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED, 404: 'workspace not found' },
    },
    export: {
      summary: 'Export the account',
      description: 'Needs the password unless it was given in the last ten minutes.',
      body: FORM,
      answers: {
        200: { description: 'the archive', content: { 'application/x-tar': {} } },
        303: ONWARDS,
        ...ANSWERED,
        503: 'an export of this account is under way, or too many others are',
      },
    },
    delete: {
      summary: 'Delete the account and all its data',
      description:
        'Needs the address of the account, and the password unless it was given in the last ten minutes.',
      body: FORM,
      answers: { 200: page('the account is deleted'), 303: ONWARDS, ...ANSWERED },
    },
  },
} as const;

function withAbsent(absent: string) {
  return { body: FORM, answers: { ...DONE.answers, 404: absent } } as const;
}

/** Extension of the contract: users see their account, and sign in and out, in a browser. */
@Controller('account')
@Documented(ACCOUNT_PAGE_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class AccountPageController {
  constructor(
    private readonly forms: AccountForms,
    private readonly signInForms: SignInForms,
    private readonly browserSessions: BrowserSessions,
    private readonly userSessions: UserSessions,
    private readonly passwordForm: PasswordForm,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.show(request, reply);
  }

  @Post()
  @OpenWhenReadOnly('signs in; sign-up is refused at its write')
  async signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.receive(request, reply, async (browserRequest, form) => {
      const entered = await this.signInForms.submit(form, browserRequest);
      if (!('faults' in entered)) return { cookies: entered.cookies };
      const { status, headers, cookies = [] } = entered;
      const page = await this.forms.page(browserRequest, { failed: entered });
      return { page: { ...page, status, headers, cookies: [...browserRequest.cookies, ...cookies] } };
    });
  }

  /** GET of the form's address, for example on a reload: redirects to /account. */
  @Get('password')
  async leavePassword(@Res() reply: FastifyReply): Promise<void> {
    await redirect(reply, ACCOUNT);
  }

  @Post('password')
  async changePassword(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ form, browserRequest }) => {
      const changed = await this.passwordForm.change(form, browserRequest);
      if (!('faults' in changed)) return { cookies: changed.cookies, done: 'password' };
      const { status, headers } = changed;
      return {
        page: { ...(await this.forms.page(browserRequest, { failedChange: changed })), status, headers },
      };
    });
  }

  @Post('sign-out')
  @OpenWhenReadOnly('signs out')
  async signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ browserRequest }) => ({
      cookies: await this.browserSessions.signOut(browserRequest.cookie, browserRequest.client),
    }));
  }

  @Post('sessions/end')
  @OpenWhenReadOnly('signs out')
  async endSession(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session, form }) => {
      await this.userSessions.end(session.userId, form.text('id'), byUser(request));
      return {};
    });
  }

  @Post('sessions/end-others')
  @OpenWhenReadOnly('signs out')
  async endOtherSessions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.act(request, reply, async ({ session }) => {
      await this.userSessions.endAllBut(session.userId, session.id, byUser(request));
      return {};
    });
  }
}
