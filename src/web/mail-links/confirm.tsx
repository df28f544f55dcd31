import { Controller, Get, HttpCode, Injectable, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { Public } from '../../access/index.js';
import {
  type AccountClaim,
  type Client,
  EmailChange,
  EmailVerification,
  GuessLimit,
  isMailable,
  type LinkTarget,
  PASSWORD_FAULTS,
  PasswordRecovery,
  type ProofFault,
  type RecoveryFault,
} from '../../domain/auth/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { BadRequest } from '../../platform/http/index.js';
import {
  Field,
  type Form,
  Hidden,
  Layout,
  Masthead,
  NewPasswordField,
  type Page,
  PageErrorFilter,
  withAlert,
} from '../layout/index.js';
import { LinkForms, type PageContext } from './link-forms.js';
import { NEW_ADDRESS_DOCS, VERIFY_DOCS } from './mail-pages.docs.js';

interface ConfirmPageProps extends PageContext {
  readonly email: string;
  readonly action: string;
  readonly needsPassword: boolean;
  /** Whether a new password may be chosen instead of giving the account's. */
  readonly canStartAnew: boolean;
  readonly faults: { readonly password?: string; readonly newPassword?: string };
}

/** Asks before an address is confirmed: programs that open the links in mails must not confirm it. */
export function confirmPage(props: ConfirmPageProps): VNode {
  const { host, csrfToken, alert, email, action, needsPassword, canStartAnew, faults } = props;
  return (
    <Layout title="Confirm your address">
      <Masthead host={host} />
      <h1>Confirm your address</h1>
      <p>
        Is <span class="name">{email}</span> your address, and is the account yours?{' '}
        {needsPassword && 'Its password shows that nobody else has made it.'}
      </p>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <form method="post" action={action} aria-label="Confirm">
        <Hidden fields={{ csrf_token: csrfToken }} />
        {needsPassword && (
          <Field
            id="password"
            name="password"
            type="password"
            label="Password of the account"
            autocomplete="current-password"
            fault={faults.password}
            isFocused={faults.newPassword === undefined}
          />
        )}
        <button type="submit">Confirm the address</button>
      </form>
      {canStartAnew && <StartAnew csrfToken={csrfToken} action={action} fault={faults.newPassword} />}
      <p class="warning">If you did not ask for this, close this page.</p>
    </Layout>
  );
}

interface StartAnewProps extends Pick<ConfirmPageProps, 'csrfToken' | 'action'> {
  readonly fault: string | undefined;
}

function StartAnew({ csrfToken, action, fault }: StartAnewProps): VNode {
  return (
    <section>
      <h2>You do not know the password?</h2>
      <p>
        Choose a new one. Everything with which the account was used so far ends: sign-ins, access tokens,
        passkeys and a second factor.
      </p>
      <form method="post" action={action} aria-label="Start anew">
        <Hidden fields={{ csrf_token: csrfToken }} />
        <NewPasswordField
          id="new-password"
          name="new_password"
          label="New password"
          fault={fault}
          isFocused={fault !== undefined}
        />
        <button type="submit" class="secondary">
          Start anew
        </button>
      </form>
    </section>
  );
}

export function confirmedPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="Your address is confirmed">
      <Masthead host={host} />
      <h1>Your address is confirmed</h1>
      <p role="status">Sign in with it, here or in the app or the website that you came from.</p>
      <a class="button" href="/account">
        Go to your account
      </a>
    </Layout>
  );
}

export function sentAgainPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="Check your mail">
      <Masthead host={host} />
      <h1>Check your mail</h1>
      <p role="status">
        If an account with this address waits to be confirmed, another mail is on its way. Its link replaces
        earlier ones.
      </p>
      <p>
        <a href="/account">Back to sign in</a>
      </p>
    </Layout>
  );
}

export function deadLinkPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="This link does not work any more">
      <Masthead host={host} />
      <h1>This link does not work any more</h1>
      <p>
        It has been used, its time is over, or a newer link has replaced it. If the address is not confirmed
        yet, sign in to have another link sent.
      </p>
      <p>
        <a href="/account">Sign in</a>
      </p>
    </Layout>
  );
}

/** A kind of link that confirms an address. */
export interface ConfirmLink {
  /** The path of its page. */
  readonly path: string;
  /** The account and the address that the token confirms; undefined when the link does not work. */
  readonly find: (token: string) => Promise<LinkTarget | undefined>;
  /** Whether a browser that is signed in to the account needs no password. */
  readonly trustsSession: boolean;
  /** Uses the link. Returns the fault, if any. */
  readonly confirm: (token: string, claim: AccountClaim) => Promise<ProofFault | undefined>;
  /** Uses the link for a new password instead, and ends all earlier access. Returns the fault, if any. */
  readonly startAnew?: (
    token: string,
    newPassword: string,
    client: Client,
  ) => Promise<RecoveryFault | undefined>;
}

type Fault = ProofFault | RecoveryFault;

const FAULTS: Readonly<Record<Exclude<Fault, 'INVALID_TOKEN'>, string>> = {
  ...PASSWORD_FAULTS,
  INVALID_PASSWORD: 'This is not the password of the account.',
  CREDENTIAL_ACCOUNT_NOT_FOUND:
    'The account has no password. Sign in to it in this browser and open the link again, or start anew where that is offered.',
};

/** The pages behind links that confirm an address. */
@Injectable()
export class ConfirmForms {
  constructor(
    private readonly forms: LinkForms,
    private readonly guessLimit: GuessLimit,
  ) {}

  async open(request: FastifyRequest, reply: FastifyReply, link: ConfirmLink): Promise<void> {
    await this.forms.open(request, reply, link.path, (context) => this.page(request, context, link));
  }

  async confirm(request: FastifyRequest, reply: FastifyReply, link: ConfirmLink): Promise<void> {
    const show = (context: PageContext): Promise<Page> => this.page(request, context, link);
    await this.forms.receive(request, reply, show, async (form, { client }, context) => {
      const token = this.forms.tokenOf(request, link.path);
      const claim = { password: form.get('password') ?? '', signedInUserId: context.userId, ...client };
      const fault = await this.use(link, token, form, claim).catch(withAlert);
      if (!fault) return { content: confirmedPage(context), cookies: [this.forms.forgetToken(link.path)] };
      if (fault === 'INVALID_TOKEN') return { content: deadLinkPage(context), status: 422 };
      if (typeof fault !== 'string')
        return { ...(await this.page(request, { ...context, alert: fault.alert }, link)), ...fault };
      const at = fault in PASSWORD_FAULTS ? 'newPassword' : 'password';
      return { ...(await this.page(request, context, link, { [at]: FAULTS[fault] })), status: 422 };
    });
  }

  private async use(
    { confirm, startAnew }: ConfirmLink,
    token: string,
    form: Form,
    claim: AccountClaim,
  ): Promise<Fault | undefined> {
    await this.guessLimit.count('confirm-address', claim.ip);
    const newPassword = form.get('new_password');
    if (newPassword === undefined || !startAnew) return confirm(token, claim);
    return startAnew(token, newPassword, claim);
  }

  private async page(
    request: FastifyRequest,
    context: PageContext,
    link: ConfirmLink,
    faults: { password?: string; newPassword?: string } = {},
  ): Promise<Page> {
    const target = await link.find(this.forms.tokenOf(request, link.path));
    if (!target) return { content: deadLinkPage(context), status: 422 };
    const { userId, email } = target;
    const needsPassword = !link.trustsSession || context.userId !== userId;
    const canStartAnew = link.startAnew !== undefined;
    const props = { ...context, email, action: link.path, needsPassword, canStartAnew, faults };
    return { content: confirmPage(props) };
  }
}

/** Extension of the contract: the page behind the link that confirms the address of a new account. */
@Controller('account/verify')
@Documented(VERIFY_DOCS)
@Public('the link is the credential; the page has its own origin and form checks')
@UseFilters(PageErrorFilter)
export class VerifyController {
  private readonly link: ConfirmLink = {
    path: '/account/verify',
    find: (token) => this.verification.find(token),
    trustsSession: false,
    confirm: (token, claim) => this.verification.confirm(token, claim),
    startAnew: (token, newPassword, { ip, userAgent }) =>
      this.recovery.complete({
        purpose: 'verify-email',
        token,
        newPassword,
        revokesAccessTokens: true,
        ip,
        userAgent,
      }),
  };

  constructor(
    private readonly forms: LinkForms,
    private readonly confirmForms: ConfirmForms,
    private readonly verification: EmailVerification,
    private readonly recovery: PasswordRecovery,
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

  /** The same answer for every address. */
  @Post('send')
  @HttpCode(200)
  async send(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const show = (context: PageContext): Page => ({ content: deadLinkPage(context) });
    await this.forms.receive(request, reply, show, async (form, { client }, context) => {
      const email = form.text('email');
      if (!isMailable(email)) throw new BadRequest('this is not an email address');
      await this.verification.request(email, client.ip);
      return { content: sentAgainPage(context) };
    });
  }
}

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
