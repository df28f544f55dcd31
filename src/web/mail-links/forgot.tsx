import { Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import {
  GuessLimit,
  isMailable,
  PASSWORD_FAULTS,
  PasswordRecovery,
  type RecoveryFault,
} from '../../domain/auth/index.js';
import { page } from '../../platform/api-docs/index.js';
import {
  ANSWERED,
  type BrowserRequest,
  Field,
  type Form,
  formDocs,
  Messages,
  NewPasswordField,
  type Page,
  PostForm,
  PublicPages,
  RevokeTokensChoice,
  SitePage,
  withAlert,
} from '../layout/index.js';
import {
  LINK_IS_CREDENTIAL,
  LinkForms,
  NO_MAIL,
  type OfHost,
  OPENED,
  type PageContext,
  TOKEN_QUERY,
  USED,
} from './link-forms.js';

interface ForgotPageProps extends PageContext {
  readonly email?: string;
  readonly fault?: string;
}

export function forgotPage({ host, csrfToken, alert, email, fault }: ForgotPageProps): VNode {
  return (
    <SitePage title="Forgotten password" host={host}>
      <p>Enter the email address of your account. A link to choose a new password is sent to it.</p>
      <Messages alert={alert} />
      <PostForm action="/account/forgot" csrfToken={csrfToken} label="Forgotten password">
        <Field
          id="email"
          name="email"
          label="Email address"
          type="email"
          autocomplete="username"
          value={email}
          fault={fault}
          isFocused
        />
        <button type="submit">Send the link</button>
      </PostForm>
      <p>
        <a href="/account">Back to sign in</a>
      </p>
    </SitePage>
  );
}

export function sentPage({ host }: OfHost): VNode {
  return (
    <SitePage title="Check your mail" host={host}>
      <p role="status">
        If there is an account with this address, a mail with a link is on its way to it. The link works for
        30 minutes, once.
      </p>
      <p class="hint">
        Nothing there after a few minutes? Look into the spam folder, and check that you entered the address
        of your account.
      </p>
      <p>
        <a href="/account/forgot">Try again</a> · <a href="/account">Back to sign in</a>
      </p>
    </SitePage>
  );
}

/** Extension of the contract: a person who has forgotten the password asks for a link. */
@PublicPages(
  'account/forgot',
  {
    show: {
      summary: 'Show the form for a forgotten password',
      answers: { 200: page('the page'), 404: NO_MAIL },
    },
    request: formDocs(
      'Have a link for a new password sent',
      { ...ANSWERED, 200: page('the request is accepted'), 404: NO_MAIL },
      'The answer is the same whether or not the address has an account.',
    ),
  },
  'the page has its own origin and form checks',
)
export class ForgotController {
  constructor(
    private readonly forms: LinkForms,
    private readonly recovery: PasswordRecovery,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.forms.requirePasswords();
    const { browserRequest, context } = await this.forms.read(request);
    await this.forms.send(reply, browserRequest, { content: forgotPage(context) });
  }

  /** The same answer for every address, with or without an account. */
  @Post()
  @HttpCode(200)
  async request(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.forms.requirePasswords();
    const show = (context: PageContext): Page => ({ content: forgotPage(context) });
    await this.forms.receive(request, reply, show, async (form, { client }, context) => {
      const email = form.text('email');
      const failed = (fault: string): Page => ({
        content: forgotPage({ ...context, email, fault }),
        status: 422,
      });
      if (!isMailable(email)) return failed('This is not an email address.');
      try {
        await this.recovery.request(email, client.ip);
        return { content: sentPage(context) };
      } catch (error) {
        const { status, headers, alert } = withAlert(error);
        return { content: forgotPage({ ...context, email, alert }), status, headers };
      }
    });
  }
}

interface ResetPageProps extends PageContext {
  /** The address of the account, so that nobody sets the password of another account by mistake. */
  readonly email: string;
  readonly fault?: string | undefined;
}

export function resetPage({ host, csrfToken, alert, email, fault }: ResetPageProps): VNode {
  return (
    <SitePage title="Choose a new password" host={host}>
      <p>
        For the account <span class="name">{email}</span>. It is signed out everywhere.
      </p>
      <Messages alert={alert} />
      <PostForm action="/account/reset" csrfToken={csrfToken} label="Choose a new password">
        <NewPasswordField
          id="new-password"
          name="new_password"
          label="New password"
          fault={fault}
          isFocused
        />
        <RevokeTokensChoice />
        <button type="submit">Change the password</button>
      </PostForm>
      <p class="hint">
        The password opens your account, not your encrypted workspaces: their own passwords stay as they are.
      </p>
    </SitePage>
  );
}

export function donePage({ host }: OfHost): VNode {
  return (
    <SitePage title="Your password is changed" host={host}>
      <p role="status">All sign-ins have ended. Sign in with the new password.</p>
      <a class="button" href="/account">
        Sign in
      </a>
    </SitePage>
  );
}

export function brokenLinkPage({ host }: OfHost): VNode {
  return (
    <SitePage title="This link does not work any more" host={host}>
      <p>It has been used, its time is over, or a newer link has replaced it.</p>
      <p>
        <a href="/account/forgot">Ask for a new link</a> · <a href="/account">Back to sign in</a>
      </p>
    </SitePage>
  );
}

const PATH = '/account/reset';

/** Extension of the contract: the page behind the link for a new password. */
@PublicPages(
  'account/reset',
  {
    show: {
      summary: 'Show the form for a new password',
      description:
        'The link in the mail. It uses nothing: the token moves into a cookie, and the browser to the form.',
      query: TOKEN_QUERY,
      answers: { ...OPENED, 200: page('the form') },
    },
    change: formDocs('Choose a new password', { ...USED, 200: page('the password is changed') }),
  },
  LINK_IS_CREDENTIAL,
)
export class ResetController {
  constructor(
    private readonly forms: LinkForms,
    private readonly recovery: PasswordRecovery,
    private readonly guessLimit: GuessLimit,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.forms.requirePasswords();
    await this.forms.open(request, reply, PATH, (context) => this.page(request, context));
  }

  @Post()
  @HttpCode(200)
  async change(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.forms.requirePasswords();
    const show = (context: PageContext): Promise<Page> => this.page(request, context);
    await this.forms.receive(request, reply, show, async (form, browserRequest, context) => {
      const fault = await this.complete(request, form, browserRequest).catch(withAlert);
      if (!fault) return { content: donePage(context), cookies: [this.forms.forgetToken(PATH)] };
      if (fault === 'INVALID_TOKEN') return { content: brokenLinkPage(context), status: 422 };
      const isRefused = typeof fault !== 'string';
      const messages = isRefused ? { alert: fault.alert } : { fault: PASSWORD_FAULTS[fault] };
      const { status, headers } = isRefused ? fault : { status: 422, headers: {} };
      return { ...(await this.page(request, { ...context, ...messages })), status, headers };
    });
  }

  private async complete(
    request: FastifyRequest,
    form: Form,
    { client }: BrowserRequest,
  ): Promise<RecoveryFault | undefined> {
    await this.guessLimit.count('reset-password', client.ip);
    return this.recovery.complete({
      purpose: 'reset-password',
      token: this.forms.tokenOf(request, PATH),
      newPassword: form.get('new_password') ?? '',
      revokesAccessTokens: form.get('revoke_tokens') !== undefined,
      ...client,
    });
  }

  private async page(request: FastifyRequest, context: PageContext & { fault?: string }): Promise<Page> {
    const email = await this.recovery.addressOf(this.forms.tokenOf(request, PATH));
    if (email === undefined) return { content: brokenLinkPage(context), status: 422 };
    return { content: resetPage({ ...context, email }) };
  }
}
