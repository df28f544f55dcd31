import { Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
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
import { page } from '../../platform/api-docs/index.js';
import { BadRequest } from '../../platform/http/index.js';
import {
  Field,
  type Form,
  formDocs,
  Messages,
  NewPasswordField,
  type Page,
  PostForm,
  PublicPages,
  REFUSED,
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
    <SitePage title="Confirm your address" host={host}>
      <p>
        Is <span class="name">{email}</span> your address, and is the account yours?{' '}
        {needsPassword && 'Its password shows that nobody else has made it.'}
      </p>
      <Messages alert={alert} />
      <PostForm {...{ action, csrfToken }} label="Confirm">
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
      </PostForm>
      {canStartAnew && <StartAnew csrfToken={csrfToken} action={action} fault={faults.newPassword} />}
      <p class="warning">If you did not ask for this, close this page.</p>
    </SitePage>
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
      <PostForm {...{ action, csrfToken }} label="Start anew">
        <NewPasswordField id="new-password" name="new_password" label="New password" fault={fault} />
        <button type="submit" class="secondary">
          Start anew
        </button>
      </PostForm>
    </section>
  );
}

export function confirmedPage({ host }: OfHost): VNode {
  return (
    <SitePage title="Your address is confirmed" host={host}>
      <p role="status">Sign in with it, here or in the app or the website that you came from.</p>
      <a class="button" href="/account">
        Go to your account
      </a>
    </SitePage>
  );
}

export function sentAgainPage({ host }: OfHost): VNode {
  return (
    <SitePage title="Check your mail" host={host}>
      <p role="status">
        If an account with this address waits to be confirmed, another mail is on its way. Its link replaces
        earlier ones.
      </p>
      <p>
        <a href="/account">Back to sign in</a>
      </p>
    </SitePage>
  );
}

export function deadLinkPage({ host }: OfHost): VNode {
  return (
    <SitePage title="This link does not work any more" host={host}>
      <p>
        It has been used, its time is over, or a newer link has replaced it. If the address is not confirmed
        yet, sign in to have another link sent.
      </p>
      <p>
        <a href="/account">Sign in</a>
      </p>
    </SitePage>
  );
}

/** A kind of link that confirms an address. */
interface ConfirmLink {
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

/** The page behind a link that confirms an address. */
abstract class ConfirmController {
  protected abstract readonly link: ConfirmLink;

  constructor(
    protected readonly forms: LinkForms,
    private readonly guessLimit: GuessLimit,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.forms.open(request, reply, this.link.path, (context) => this.page(request, context));
  }

  @Post()
  @HttpCode(200)
  async confirm(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { path } = this.link;
    const show = (context: PageContext): Promise<Page> => this.page(request, context);
    await this.forms.receive(request, reply, show, async (form, { client }, context) => {
      const token = this.forms.tokenOf(request, path);
      const claim = { password: form.get('password') ?? '', signedInUserId: context.userId, ...client };
      const fault = await this.use(token, form, claim).catch(withAlert);
      if (!fault) return { content: confirmedPage(context), cookies: [this.forms.forgetToken(path)] };
      if (fault === 'INVALID_TOKEN') return { content: deadLinkPage(context), status: 422 };
      if (typeof fault !== 'string')
        return { ...(await this.page(request, { ...context, alert: fault.alert })), ...fault };
      const at = fault in PASSWORD_FAULTS ? 'newPassword' : 'password';
      return { ...(await this.page(request, context, { [at]: FAULTS[fault] })), status: 422 };
    });
  }

  private async use(token: string, form: Form, claim: AccountClaim): Promise<Fault | undefined> {
    await this.guessLimit.count('confirm-address', claim.ip);
    const { confirm, startAnew } = this.link;
    const newPassword = form.get('new_password');
    if (newPassword === undefined || !startAnew) return confirm(token, claim);
    return startAnew(token, newPassword, claim);
  }

  private async page(
    request: FastifyRequest,
    context: PageContext,
    faults: { password?: string; newPassword?: string } = {},
  ): Promise<Page> {
    const { path: action, find, trustsSession, startAnew } = this.link;
    const target = await find(this.forms.tokenOf(request, action));
    if (!target) return { content: deadLinkPage(context), status: 422 };
    const { userId, email } = target;
    const needsPassword = !trustsSession || context.userId !== userId;
    const canStartAnew = startAnew !== undefined;
    return { content: confirmPage({ ...context, email, action, needsPassword, canStartAnew, faults }) };
  }
}

/** The documentation of the two requests of a page behind a link that confirms an address. */
const confirming = (what: string) => ({
  show: {
    summary: `Show the page behind the link that confirms ${what}`,
    description: 'It uses nothing: the token moves into a cookie, and the browser to the form.',
    query: TOKEN_QUERY,
    answers: OPENED,
  },
  confirm: formDocs(`Confirm ${what}`, { ...USED, 200: page('the address is confirmed') }),
});

/** Extension of the contract: the page behind the link that confirms the address of a new account. */
@PublicPages(
  'account/verify',
  {
    ...confirming('the address of a new account'),
    send: formDocs('Have another link to confirm the address sent', {
      ...REFUSED,
      200: page('the request is accepted'),
      404: NO_MAIL,
    }),
  },
  LINK_IS_CREDENTIAL,
)
export class VerifyController extends ConfirmController {
  protected readonly link: ConfirmLink = {
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
    forms: LinkForms,
    guessLimit: GuessLimit,
    private readonly verification: EmailVerification,
    private readonly recovery: PasswordRecovery,
  ) {
    super(forms, guessLimit);
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
@PublicPages('account/new-address', confirming('another address of an account'), LINK_IS_CREDENTIAL)
export class NewAddressController extends ConfirmController {
  protected readonly link: ConfirmLink = {
    path: '/account/new-address',
    find: (token) => this.emailChange.find(token),
    trustsSession: true,
    confirm: (token, claim) => this.emailChange.confirm(token, claim),
  };

  constructor(
    forms: LinkForms,
    guessLimit: GuessLimit,
    private readonly emailChange: EmailChange,
  ) {
    super(forms, guessLimit);
  }
}
