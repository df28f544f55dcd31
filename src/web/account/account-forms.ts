import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BrowserSession } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  type RejectedSignIn,
  Form,
  OUT_OF_DATE,
  type Page,
  redirect,
  sendPage,
  type BrowserRequest,
  BrowserRequests,
  Confirmations,
  type RejectedConfirmation,
  singleSignOnOption,
} from '../layout/index.js';
import type { FlashMessages } from './action-form.js';
import { Activity } from './activity.js';
import { AccountOverview } from './account-overview.js';
import { accountPage, accountSignInPage } from './account-page.js';

export const ACCOUNT = '/account';

/** Notices of the account page, selected by its query after a form was processed. */
const DONE = {
  'factor-off': 'The second factor is off. Remove the account from your authenticator app.',
  email: 'An email with a link is on its way to the new address.',
  name: 'Your name has been changed.',
  notices: 'Your choice of mails has been saved.',
  password: 'Your password has been changed, and all other sessions have ended.',
  trial: 'The trial has begun.',
  unlinked: 'Single sign-on is disconnected, and all other sessions have ended.',
  workspace: 'The workspace has been deleted.',
  'workspace-name': 'The workspace has been renamed. Apps show the new name when they next ask.',
} as const;
type Done = keyof typeof DONE;

/** One of our own forms, posted by a signed-in user. */
export interface SubmittedForm {
  readonly session: BrowserSession;
  readonly form: Form;
  readonly browserRequest: BrowserRequest;
}

/** The answer to a form: the account page again, unless `page` is set, and the cookies to set. */
export interface FormResult {
  readonly page?: Page;
  readonly cookies?: readonly string[];
  /** The notice on the account page. */
  readonly done?: Done;
  /** Sends an answer other than a page. */
  readonly send?: () => Promise<void>;
}

/** The common part of all forms of the account page. */
@Injectable()
export class AccountForms {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly overview: AccountOverview,
    private readonly confirmations: Confirmations,
    private readonly configuration: Configuration,
    private readonly activity: Activity,
  ) {}

  /** Shown in the header of every page. */
  get host(): string {
    return this.configuration.publicHost;
  }

  async show(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const done = Form.ofQuery(request).all('done')[0] ?? '';
    const notice = Object.hasOwn(DONE, done) ? DONE[done as Done] : undefined;
    await sendPage(reply, await this.page(await this.browserRequests.read(request), { notice }));
  }

  /** Processes a form. A form that was not made for this browser gets 403, with the current page. */
  async act(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (posted: SubmittedForm) => Promise<FormResult>,
  ): Promise<void> {
    await this.receive(request, reply, async (browserRequest, form) => {
      if (!browserRequest.session) return {};
      return work({ session: browserRequest.session, form, browserRequest: browserRequest });
    });
  }

  /** Like `act`, also for users who are not signed in. @throws Forbidden when another site has posted it */
  async receive(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (browserRequest: BrowserRequest, form: Form) => Promise<FormResult>,
  ): Promise<void> {
    const form = await Form.read(request);
    const browserRequest = await this.browserRequests.read(request);
    if (!this.browserRequests.hasValidCsrfToken(request, browserRequest, form))
      return sendPage(reply, { ...(await this.page(browserRequest, { alert: OUT_OF_DATE })), status: 403 });
    const { page, cookies = [], done, send } = await work(browserRequest, form);
    if (send) await send();
    else if (page) await sendPage(reply, page);
    else
      await redirect(reply, done ? `${ACCOUNT}?done=${done}` : ACCOUNT, [
        ...browserRequest.cookies,
        ...cookies,
      ]);
  }

  /** For forms whose effect cannot be undone or outlives the session. Returns the fault, if any. */
  confirm({ form, browserRequest }: SubmittedForm): Promise<RejectedConfirmation | undefined> {
    return this.confirmations.check(form, browserRequest);
  }

  /** The page again, after a form that was not accepted. */
  async again(
    { browserRequest }: SubmittedForm,
    messages: FlashMessages,
    { status, headers }: Pick<RejectedConfirmation, 'status' | 'headers'> = { status: 422, headers: {} },
  ): Promise<FormResult> {
    return { page: { ...(await this.page(browserRequest, messages)), status, headers } };
  }

  /** The account, or the sign-in form. */
  async page(
    browserRequest: BrowserRequest,
    messages: FlashMessages & { failed?: RejectedSignIn } = {},
  ): Promise<Page> {
    const { session, csrfToken, cookies } = browserRequest;
    const { publicHost, signupEnabled, hasMail, stripeSecretKey, hasSubscriptions, oidcOnly } =
      this.configuration;
    const singleSignOn = singleSignOnOption(this.configuration, 'account');
    const common = { ...messages, host: publicHost, csrfToken: csrfToken.value };
    const content = session
      ? accountPage({
          ...common,
          session,
          needsConfirmation: await this.confirmations.areNeeded(browserRequest),
          overview: await this.overview.of(session),
          activity: await this.activity.of(session.userId),
          canChangeEmail: hasMail,
          hasBilling: stripeSecretKey !== undefined && hasSubscriptions,
          hasPasswords: !oidcOnly,
          singleSignOn,
        })
      : accountSignInPage({
          ...common,
          canSignUp: signupEnabled,
          canRecover: hasMail,
          singleSignOn,
        });
    return { content, formTargets: ["'self'"], cookies };
  }
}
