import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BrowserSession } from '../auth/index.js';
import { Configuration } from '../config/index.js';
import {
  type RejectedSignIn,
  Form,
  OUT_OF_DATE,
  type Page,
  redirect,
  sendPage,
  type BrowserRequest,
  BrowserRequests,
} from '../pages/index.js';
import type { FlashMessages } from './action-form.js';
import { AccountOverview } from './account-overview.js';
import { accountPage, accountSignInPage } from './account-page.js';

export const ACCOUNT = '/account';

/** What the account page is told by its address, as it comes after a form of its own. */
const DONE = {
  password: 'The password is changed, and all other sign-ins have ended.',
} as const;
type Done = keyof typeof DONE;

/** A form of ours that was posted by somebody who is signed in. */
export interface SubmittedForm {
  readonly session: BrowserSession;
  readonly form: Form;
  readonly browserRequest: BrowserRequest;
}

/** What follows: the account page again, unless this says a page of its own; with what the browser has to remember. */
export interface FormResult {
  readonly page?: Page;
  readonly cookies?: readonly string[];
  /** The sentence on the account page. */
  readonly done?: Done;
}

/** What all forms of the account page have in common. */
@Injectable()
export class AccountForms {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly overview: AccountOverview,
    private readonly configuration: Configuration,
  ) {}

  async show(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const done = Form.ofQuery(request).all('done')[0] ?? '';
    const notice = Object.hasOwn(DONE, done) ? DONE[done as Done] : undefined;
    await sendPage(reply, await this.page(await this.browserRequests.read(request), { notice }));
  }

  /** Does what a form asks for. One that is no form of ours for this browser is 403, with the page as it is now. */
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

  /** The same for who is not signed in yet. @throws Forbidden when another site has posted it */
  async receive(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (browserRequest: BrowserRequest, form: Form) => Promise<FormResult>,
  ): Promise<void> {
    const form = await Form.read(request);
    const browserRequest = await this.browserRequests.read(request);
    if (!this.browserRequests.hasValidCsrfToken(request, browserRequest, form))
      return sendPage(reply, { ...(await this.page(browserRequest, { alert: OUT_OF_DATE })), status: 403 });
    const { page, cookies = [], done } = await work(browserRequest, form);
    if (page) await sendPage(reply, page);
    else
      await redirect(reply, done ? `${ACCOUNT}?done=${done}` : ACCOUNT, [
        ...browserRequest.cookies,
        ...cookies,
      ]);
  }

  /** The account, or the form to sign in. */
  async page(
    browserRequest: BrowserRequest,
    messages: FlashMessages & { failed?: RejectedSignIn } = {},
  ): Promise<Page> {
    const { session, csrfToken, cookies } = browserRequest;
    const { publicHost, signupEnabled, stripeSecretKey, hasSubscriptions } = this.configuration;
    const common = { ...messages, host: publicHost, csrfToken: csrfToken.value };
    const content = session
      ? accountPage({
          ...common,
          session,
          overview: await this.overview.of(session),
          hasBilling: stripeSecretKey !== undefined && hasSubscriptions,
        })
      : accountSignInPage({ ...common, canSignUp: signupEnabled });
    return { content, formTargets: ["'self'"], cookies };
  }
}
