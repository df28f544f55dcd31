import { Controller, Get, Injectable, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { Public } from '../../access/index.js';
import { Invitations } from '../../domain/accounts/index.js';
import {
  BrowserSessions,
  faultOfPassword,
  NO_PASSWORDS,
  PASSWORD_FAULTS,
  PasswordHasher,
} from '../../domain/auth/index.js';
import { Documented, page } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { asName, Forbidden } from '../../platform/http/index.js';
import {
  ANSWERED,
  type BrowserRequest,
  BrowserRequests,
  Field,
  Form,
  FORM,
  Hidden,
  Layout,
  Masthead,
  NewPasswordField,
  ONWARDS,
  OUT_OF_DATE,
  type Page,
  PageErrorFilter,
  redirect,
  sendPage,
  SingleSignOnForm,
  type SingleSignOnOption,
  singleSignOnOption,
  withAlert,
} from '../layout/index.js';

export type InviteeField = 'name' | 'password';

/** The faults in the form; never contains the password. */
export interface RejectedInvitee {
  readonly name: string;
  readonly faults: Readonly<Partial<Record<InviteeField, string>>>;
  readonly alert?: string;
}

interface InvitationProps {
  readonly host: string;
  readonly csrfToken: string;
  readonly token: string;
  readonly email: string;
  readonly singleSignOn: SingleSignOnOption | undefined;
  readonly failed?: RejectedInvitee | undefined;
}

export function invitationPage(props: InvitationProps): VNode {
  const { host, csrfToken, email, singleSignOn, failed } = props;
  return (
    <Layout title="Make your account">
      <Masthead host={host} />
      <h1>Make your account</h1>
      <p>
        You are invited with the address <span class="name">{email}</span>.
      </p>
      {failed?.alert && (
        <p class="alert" role="alert">
          {failed.alert}
        </p>
      )}
      {singleSignOn && (
        <>
          <p>Your account is made when you sign in with this address:</p>
          <SingleSignOnForm option={singleSignOn} hidden={{ csrf_token: csrfToken }} />
        </>
      )}
      {!singleSignOn?.isOnly && <InviteeForm {...props} />}
    </Layout>
  );
}

function InviteeForm({ csrfToken, token, email, singleSignOn, failed }: InvitationProps): VNode {
  const { faults = {}, name = '' } = failed ?? {};
  return (
    <>
      <p>{singleSignOn ? 'Or choose' : 'Choose'} a name and a password.</p>
      <form method="post" action="/account/invitation" class="credentials" aria-label="Make your account">
        <Hidden fields={{ csrf_token: csrfToken, token }} />
        <div class="field">
          <label for="email">Email address</label>
          <input id="email" type="email" autocomplete="username" value={email} readonly />
        </div>
        <Field
          id="name"
          name="name"
          label="Name"
          type="text"
          autocomplete="name"
          value={name}
          fault={faults.name}
          isFocused={faults.password === undefined}
        />
        <NewPasswordField
          id="password"
          name="password"
          label="Password"
          fault={faults.password}
          isFocused={faults.password !== undefined}
        />
        <button type="submit">Make the account</button>
      </form>
    </>
  );
}

export function usedInvitationPage({ host }: { readonly host: string }): VNode {
  return (
    <Layout title="This invitation does not work">
      <Masthead host={host} />
      <h1>This invitation does not work</h1>
      <p>It was used or replaced, or it is older than seven days.</p>
      <p>
        If you have made your account, <a href="/account">sign in</a>. If not, ask who invited you for another
        invitation.
      </p>
    </Layout>
  );
}

/** `unknown`: the link does not work. Cookies: the account is created; without any, the browser is not signed in. */
type Answer = 'unknown' | { readonly cookies: readonly string[] } | RejectedInvitee;

/** The form behind an invitation's link. */
@Injectable()
export class InvitationForm {
  constructor(
    private readonly invitations: Invitations,
    private readonly hasher: PasswordHasher,
    private readonly browserSessions: BrowserSessions,
  ) {}

  async submit(form: Form, { client }: BrowserRequest): Promise<Answer> {
    const token = form.text('token');
    const password = form.get('password') ?? '';
    const entered = form.text('name');
    // Checked before the password is hashed, which is expensive; checked again when the account is created.
    if ((await this.invitations.addressOf(token)) === undefined) return 'unknown';
    const name = asName(entered);
    const fault = await faultOfPassword(password);
    if (name === undefined || fault) {
      const faults = {
        ...(name === undefined ? { name: 'Enter a name of 1 to 255 characters.' } : {}),
        ...(fault ? { password: PASSWORD_FAULTS[fault] } : {}),
      };
      return { name: entered, faults };
    }
    try {
      const passwordHash = await this.hasher.hash(password, client.ip);
      const made = await this.invitations.accept(token, { name, passwordHash }, { actor: 'user', ...client });
      if (typeof made === 'string') return 'unknown';
      return { cookies: await this.signIn(made.email, password, client) };
    } catch (error) {
      return { name: entered, faults: {}, alert: withAlert(error).alert };
    }
  }

  /** The account exists by now, so a sign-in that is refused, as after too many tries, only leaves the browser signed out. */
  private async signIn(
    email: string,
    password: string,
    client: BrowserRequest['client'],
  ): Promise<readonly string[]> {
    try {
      const entered = await this.browserSessions.signIn(email, password, client);
      return 'refusal' in entered ? [] : entered.cookies;
    } catch (error) {
      withAlert(error);
      return [];
    }
  }
}

const UNKNOWN = 'the invitation was used or replaced, or has expired';

const INVITATION_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'Show the form of an invitation',
      query: { token: { description: 'The token of the link.' } },
      answers: {
        200: page('the form'),
        400: 'a parameter occurs more than once',
        403: 'the account of this browser is suspended',
        404: page(UNKNOWN),
      },
    },
    accept: {
      summary: 'Accept an invitation',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED, 404: page(UNKNOWN) },
    },
  },
} as const;

/** The link of an invitation, which creates an account while sign-up is closed. */
@Controller('account/invitation')
@Documented(INVITATION_DOCS)
@Public('the link has a token; the page has its own cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class InvitationController {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly invitations: Invitations,
    private readonly form: InvitationForm,
    private readonly configuration: Configuration,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const browserRequest = await this.browserRequests.read(request);
    await sendPage(reply, await this.page(browserRequest, Form.ofQuery(request).text('token')));
  }

  @Post()
  async accept(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const form = await Form.read(request);
    const browserRequest = await this.browserRequests.read(request);
    const token = form.text('token');
    if (!this.browserRequests.hasValidCsrfToken(request, browserRequest, form)) {
      const outOfDate = { name: form.text('name'), faults: {}, alert: OUT_OF_DATE };
      return sendPage(reply, await this.page(browserRequest, token, outOfDate, 403));
    }
    if (this.configuration.oidcOnly) throw new Forbidden(NO_PASSWORDS);
    const answer = await this.form.submit(form, browserRequest);
    if (answer === 'unknown') return sendPage(reply, this.unknown(browserRequest));
    if ('cookies' in answer)
      return redirect(reply, '/account', [...browserRequest.cookies, ...answer.cookies]);
    return sendPage(reply, await this.page(browserRequest, token, answer, 422));
  }

  private async page(
    browserRequest: BrowserRequest,
    token: string,
    failed?: RejectedInvitee,
    status = 200,
  ): Promise<Page> {
    const email = await this.invitations.addressOf(token);
    if (email === undefined) return this.unknown(browserRequest);
    const { csrfToken, cookies } = browserRequest;
    const { publicHost: host } = this.configuration;
    const singleSignOn = singleSignOnOption(this.configuration, 'account');
    const content = invitationPage({ host, csrfToken: csrfToken.value, token, email, singleSignOn, failed });
    return { status, content, formTargets: ["'self'"], cookies };
  }

  private unknown({ cookies }: BrowserRequest): Page {
    const { publicHost: host } = this.configuration;
    return { status: 404, content: usedInvitationPage({ host }), cookies };
  }
}
