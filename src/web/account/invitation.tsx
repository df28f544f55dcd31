import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { Invitations } from '../../domain/accounts/index.js';
import {
  BrowserSessions,
  faultOfPassword,
  NO_PASSWORDS,
  PASSWORD_FAULTS,
  PasswordHasher,
} from '../../domain/auth/index.js';
import { page } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { asName, Forbidden } from '../../platform/http/index.js';
import {
  type BrowserRequest,
  BrowserRequests,
  type Faults,
  Field,
  Form,
  formDocs,
  Messages,
  NAME_FAULT,
  NewPasswordField,
  OUT_OF_DATE,
  type Page,
  PostForm,
  PublicPages,
  redirect,
  sendPage,
  SingleSignOnForm,
  type SingleSignOnOption,
  singleSignOnOption,
  SitePage,
  SUSPENDED,
  withAlert,
} from '../layout/index.js';
import { DONE_OR_AGAIN } from './account-forms.js';

/** The faults in the form; never contains the password. */
export interface RejectedInvitee {
  readonly name: string;
  readonly faults: Faults;
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
    <SitePage title="Make your account" host={host}>
      <p>
        You are invited with the address <span class="name">{email}</span>.
      </p>
      <Messages alert={failed?.alert} />
      {singleSignOn && (
        <>
          <p>Your account is made when you sign in with this address:</p>
          <SingleSignOnForm option={singleSignOn} hidden={{ csrf_token: csrfToken }} />
        </>
      )}
      {!singleSignOn?.isOnly && <InviteeForm {...props} />}
    </SitePage>
  );
}

function InviteeForm({ csrfToken, token, email, singleSignOn, failed }: InvitationProps): VNode {
  const { faults = {}, name = '' } = failed ?? {};
  return (
    <>
      <p>{singleSignOn ? 'Or choose' : 'Choose'} a name and a password.</p>
      <PostForm
        action="/account/invitation"
        csrfToken={csrfToken}
        fields={{ token }}
        class="credentials"
        label="Make your account"
      >
        <div class="field">
          <label for="email">Email address</label>
          <input id="email" type="email" autocomplete="username" value={email} readonly />
        </div>
        <Field
          id="name"
          name="name"
          label="Name"
          autocomplete="name"
          value={name}
          fault={faults.name}
          isFocused={faults.password === undefined}
        />
        <NewPasswordField id="password" name="password" label="Password" fault={faults.password} />
        <button type="submit">Make the account</button>
      </PostForm>
    </>
  );
}

export function usedInvitationPage({ host }: { readonly host: string }): VNode {
  return (
    <SitePage title="This invitation does not work" host={host}>
      <p>It was used or replaced, or it is older than seven days.</p>
      <p>
        If you have made your account, <a href="/account">sign in</a>. If not, ask who invited you for another
        invitation.
      </p>
    </SitePage>
  );
}

/** `unknown`: the link does not work. Cookies: the account is created; without any, the browser is not signed in. */
type Answer = 'unknown' | { readonly cookies: readonly string[] } | RejectedInvitee;

const UNKNOWN = 'the invitation was used or replaced, or has expired';

/** The link of an invitation, which creates an account while sign-up is closed. */
@PublicPages(
  'account/invitation',
  {
    show: {
      summary: 'Show the form of an invitation',
      query: { token: { description: 'The token of the link.' } },
      answers: {
        200: page('the form'),
        400: 'a parameter occurs more than once',
        403: SUSPENDED,
        404: page(UNKNOWN),
      },
    },
    accept: formDocs('Accept an invitation', { ...DONE_OR_AGAIN, 404: page(UNKNOWN) }),
  },
  'the link has a token; the page has its own cookie, origin and form checks',
)
export class InvitationController {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly invitations: Invitations,
    private readonly hasher: PasswordHasher,
    private readonly browserSessions: BrowserSessions,
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
    const answer = await this.submit(form, browserRequest);
    if (answer === 'unknown') return sendPage(reply, this.unknown(browserRequest));
    if ('cookies' in answer)
      return redirect(reply, '/account', [...browserRequest.cookies, ...answer.cookies]);
    return sendPage(reply, await this.page(browserRequest, token, answer, 422));
  }

  private async submit(form: Form, { client }: BrowserRequest): Promise<Answer> {
    const token = form.text('token');
    const password = form.get('password') ?? '';
    const entered = form.text('name');
    // Checked before the password is hashed, which is expensive; checked again when the account is created.
    if ((await this.invitations.addressOf(token)) === undefined) return 'unknown';
    const name = asName(entered);
    const fault = await faultOfPassword(password);
    if (name === undefined || fault) {
      const faults = {
        name: name === undefined ? NAME_FAULT : undefined,
        password: fault && PASSWORD_FAULTS[fault],
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
