import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BrowserSession } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  ANSWERED,
  type Faults,
  Form,
  ONWARDS,
  OUT_OF_DATE,
  type Page,
  redirect,
  REFUSED,
  type RejectedSignIn,
  sendPage,
  type BrowserRequest,
  BrowserRequests,
  Confirmations,
  singleSignOnOption,
} from '../layout/index.js';
import type { FlashMessages } from './account-form.js';
import { Activity } from './activity.js';
import { AccountOverview } from './account-overview.js';
import { accountPage, accountSignInPage } from './account-page.js';

export const ACCOUNT = '/account';

/** Documentation of the answers to a form that is accepted, or else shown again. */
export const DONE_OR_AGAIN = { 303: ONWARDS, ...ANSWERED };
/** The same of a form with nothing to correct. */
export const DONE_ONLY = { 303: ONWARDS, ...REFUSED };

/** Documentation of GET of a form's address, for example on a reload. */
export const LEAVE = { summary: 'Redirect to the account page', answers: { 303: ONWARDS } };
export const LEAVE_ANY = {
  ...LEAVE,
  path: { form: { description: 'Any of the forms below.' } },
  answers: { 303: ONWARDS, 404: 'there is no such form' },
};

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
  /** The address to which it was posted. */
  readonly action: string;
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

interface Rejection {
  readonly faults?: Faults;
  /** What concerns none of the fields: at the top of the page, or of the form. */
  readonly alert?: string | undefined;
  readonly alertInForm?: string | undefined;
  /** Defaults to 422. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
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
    const action = request.routeOptions.url ?? '';
    await this.receive(request, reply, async (browserRequest, form) => {
      const { session } = browserRequest;
      return session ? work({ session, form, browserRequest, action }) : {};
    });
  }

  /** The same for a form whose effect cannot be undone or outlives the session: see `confirmed`. */
  async actConfirmed(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (posted: SubmittedForm) => Promise<FormResult>,
  ): Promise<void> {
    await this.act(request, reply, (posted) => this.confirmed(posted, () => work(posted)));
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

  /** Does the work unless the form lacks the password, which it needs when the user has not signed in recently. */
  async confirmed(posted: SubmittedForm, work: () => Promise<FormResult>): Promise<FormResult> {
    const rejected = await this.confirmations.check(posted.form, posted.browserRequest);
    if (!rejected) return work();
    const { fault, ...others } = rejected;
    return this.again(posted, { ...others, faults: { confirm_password: fault } });
  }

  /** The page again, after a form that was not accepted. */
  async again(posted: SubmittedForm, rejection: Rejection): Promise<FormResult> {
    const { form: entered, action, browserRequest } = posted;
    const { faults = {}, alert, alertInForm, status = 422, headers } = rejection;
    const rejected = { action, entered, faults, alert: alertInForm };
    return { page: { ...(await this.page(browserRequest, { alert, rejected })), status, headers } };
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
    const common = { ...messages, host: publicHost, csrfToken: csrfToken.value, singleSignOn };
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
        })
      : accountSignInPage({ ...common, canSignUp: signupEnabled, canRecover: hasMail });
    return { content, formTargets: ["'self'"], cookies };
  }
}
