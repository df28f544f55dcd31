import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { Public } from '../../access/index.js';
import {
  GuessLimit,
  isMailable,
  PASSWORD_FAULTS,
  PasswordRecovery,
  type RecoveryFault,
} from '../../domain/auth/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import {
  type BrowserRequest,
  Field,
  type Form,
  Hidden,
  Layout,
  Masthead,
  NewPasswordField,
  type Page,
  PageErrorFilter,
  RevokeTokensChoice,
  withAlert,
} from '../layout/index.js';
import { LinkForms, type PageContext } from './link-forms.js';
import { FORGOT_DOCS, RESET_DOCS } from './mail-pages.docs.js';

interface ForgotPageProps extends PageContext {
  readonly email?: string;
  readonly fault?: string;
}

export function forgotPage({ host, csrfToken, alert, email, fault }: ForgotPageProps): VNode {
  return (
    <Layout title="Forgotten password">
      <Masthead host={host} />
      <h1>Forgotten password</h1>
      <p>Enter the email address of your account. A link to choose a new password is sent to it.</p>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <form method="post" action="/account/forgot" aria-label="Forgotten password">
        <Hidden fields={{ csrf_token: csrfToken }} />
        <Field
          id="email"
          name="email"
          label="Email address"
          type="email"
          autocomplete="username"
          {...(email === undefined ? {} : { value: email })}
          fault={fault}
          isFocused
        />
        <button type="submit">Send the link</button>
      </form>
      <p>
        <a href="/account">Back to sign in</a>
      </p>
    </Layout>
  );
}

export function sentPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="Check your mail">
      <Masthead host={host} />
      <h1>Check your mail</h1>
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
    </Layout>
  );
}

/** Extension of the contract: a person who has forgotten the password asks for a link. */
@Controller('account/forgot')
@Documented(FORGOT_DOCS)
@Public('the page has its own origin and form checks')
@UseFilters(PageErrorFilter)
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
    <Layout title="Choose a new password">
      <Masthead host={host} />
      <h1>Choose a new password</h1>
      <p>
        For the account <span class="name">{email}</span>. It is signed out everywhere.
      </p>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <form method="post" action="/account/reset" aria-label="Choose a new password">
        <Hidden fields={{ csrf_token: csrfToken }} />
        <NewPasswordField
          id="new-password"
          name="new_password"
          label="New password"
          fault={fault}
          isFocused
        />
        <RevokeTokensChoice />
        <button type="submit">Change the password</button>
      </form>
      <p class="hint">
        The password opens your account, not your encrypted workspaces: their own passwords stay as they are.
      </p>
    </Layout>
  );
}

export function donePage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="Your password is changed">
      <Masthead host={host} />
      <h1>Your password is changed</h1>
      <p role="status">All sign-ins have ended. Sign in with the new password.</p>
      <a class="button" href="/account">
        Sign in
      </a>
    </Layout>
  );
}

export function brokenLinkPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="This link does not work any more">
      <Masthead host={host} />
      <h1>This link does not work any more</h1>
      <p>It has been used, its time is over, or a newer link has replaced it.</p>
      <p>
        <a href="/account/forgot">Ask for a new link</a> · <a href="/account">Back to sign in</a>
      </p>
    </Layout>
  );
}

const PATH = '/account/reset';

/** Extension of the contract: the page behind the link for a new password. */
@Controller('account/reset')
@Documented(RESET_DOCS)
@Public('the link is the credential; the page has its own origin and form checks')
@UseFilters(PageErrorFilter)
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
