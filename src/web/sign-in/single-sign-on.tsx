import { Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { SingleSignOn, type SingleSignOnRefusal } from '../../domain/auth/index.js';
import { page } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { addressKey, NotFound } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { RateLimiter } from '../../platform/limits/index.js';
import {
  asSource,
  type BrowserRequest,
  BrowserRequests,
  CodeStep,
  Form,
  formDocs,
  ONWARDS,
  PublicPages,
  redirect,
  REFUSED,
  sendPage,
  SitePage,
} from '../layout/index.js';
import { Targets } from './targets.js';

interface LeavingPageProps {
  readonly host: string;
  readonly name: string;
  readonly address: string;
}

/** Shown for the moment until the browser has followed its Refresh header. */
export function leavingPage({ host, name, address }: LeavingPageProps): VNode {
  const heading = (
    <>
      Continue with <span class="name">{name}</span>
    </>
  );
  return (
    <SitePage title={`Continue with ${name}`} heading={heading} host={host}>
      <p>
        You sign in at <span class="name">{new URL(address).host}</span>, and come back here afterwards.
      </p>
      <a class="button" href={address} rel="noreferrer">
        Go to {name}
      </a>
    </SitePage>
  );
}

interface CodePageProps {
  readonly host: string;
  /** The page on which the sign-in began: its form takes the code. */
  readonly returnTo: URL;
  readonly csrfToken: string;
}

/** The second step: the provider has identified the person, and the account has a second factor. */
export function codePage({ host, returnTo, csrfToken }: CodePageProps): VNode {
  const { pathname: action, searchParams } = returnTo;
  const hidden = { ...Object.fromEntries(searchParams), csrf_token: csrfToken };
  return (
    <SitePage title="Enter the code" host={host}>
      <CodeStep {...{ action, hidden }} step={{ kind: 'totp' }} isAfterPassword={false} />
      <p class="warning">If you did not just start this sign-in yourself, close this page.</p>
    </SitePage>
  );
}

interface RefusedPageProps {
  readonly host: string;
  readonly name: string;
  readonly refusal: SingleSignOnRefusal;
  /** The page on which the sign-in began. */
  readonly returnTo: string;
}

/** What happened, and what the user can do about it. */
export function refusedPage({ host, name, refusal, returnTo }: RefusedPageProps): VNode {
  const { heading, advice } = textOf(refusal, name);
  return (
    <SitePage title={heading} host={host}>
      <p role="alert">{advice}</p>
      <a class="button" href={returnTo}>
        Start again
      </a>
    </SitePage>
  );
}

interface Text {
  readonly heading: string;
  readonly advice: string;
}

function textOf(refusal: SingleSignOnRefusal, name: string): Text {
  const texts: Readonly<Record<SingleSignOnRefusal, Text>> = {
    'out-of-date': {
      heading: 'This sign-in is over',
      advice: 'It took too long, was used before, or began in another browser. Start again in this one.',
    },
    declined: {
      heading: 'You were not signed in',
      advice: `${name} has not confirmed the sign-in. If you did not cancel it, ask whoever runs ${name} for access.`,
    },
    'bad-answer': {
      heading: 'You were not signed in',
      advice: `The answer of ${name} could not be verified. Start again; if it happens again, tell whoever runs this service.`,
    },
    'no-address': {
      heading: 'Your email address is missing',
      advice: `${name} gives this service no email address that it can use. Enter one in your account at ${name}, then start again.`,
    },
    'unverified-address': {
      heading: 'Your email address is not verified',
      advice: `${name} does not say that your email address is yours. Verify it in your account at ${name}, or ask whoever runs ${name} to do so, then start again.`,
    },
    'no-account': {
      heading: 'There is no account for you yet',
      advice:
        'Sign-up is closed here. Ask whoever runs this service for an account with the same email address.',
    },
    'other-person': {
      heading: 'This account belongs to another sign-in',
      advice: `The account with your email address is already connected to another person at ${name}. Ask whoever runs this service to disconnect it.`,
    },
  };
  return texts[refusal];
}

const NO_PROVIDER = {
  404: 'no OpenID Connect provider is configured',
  503: 'the provider cannot be reached; a page',
};

/** Each request may cause one to the provider. */
const REQUESTS_PER_MINUTE = 30;

/**
 * Leads to the provider and back. The browser is sent there by a page with a Refresh header, not by a redirect: browsers apply
 * the page's `form-action` to every redirect after a form, and only the provider knows where it redirects to.
 */
@PublicPages(
  'auth/single-sign-on',
  {
    begin: formDocs('Begin a sign-in through the OpenID Connect provider', {
      200: page('a page that leads to the provider'),
      ...REFUSED,
      ...NO_PROVIDER,
    }),
    finish: {
      summary: 'Sign in with the answer of the OpenID Connect provider',
      description:
        'The redirect URI that is registered at the provider. Only the browser that began the sign-in can use it, once.',
      query: {
        state: { description: 'The value that this service sent to the provider.' },
        code: { description: 'The authorization code.' },
        error: { description: 'The error code of the provider, instead of `code`.' },
        iss: { description: 'The issuer of the answer (RFC 9207). It must be `OIDC_ISSUER`.' },
      },
      answers: {
        200: page('the page asks for a code of the second factor'),
        303: { ...ONWARDS, description: 'a redirect to the page on which the sign-in began' },
        400: 'a parameter occurs more than once',
        403: 'nobody was signed in; the page says why and what to do, or the account is suspended',
        ...NO_PROVIDER,
      },
    },
  },
  'the page has its own form checks; the answer of the provider is bound to the browser and verified',
)
export class SingleSignOnController {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly singleSignOn: SingleSignOn,
    private readonly targets: Targets,
    private readonly configuration: Configuration,
    private readonly rateLimiter: RateLimiter,
  ) {}

  @Post()
  @HttpCode(200)
  @OpenWhenReadOnly('signs in; a new account is refused at its write')
  async begin(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.admit(request);
    const form = await Form.read(request);
    const returnTo = this.targets.pageOf(form);
    const browserRequest = await this.browserRequests.read(request);
    if (!this.browserRequests.hasValidCsrfToken(request, browserRequest, form))
      return this.refuse(reply, browserRequest, 'out-of-date', returnTo);
    const isFresh = form.get('fresh') !== undefined;
    const address = await this.singleSignOn.begin(browserOf(browserRequest), returnTo, isFresh);
    const { publicHost: host, oidcName: name = '' } = this.configuration;
    const content = leavingPage({ host, name, address });
    const headers = { refresh: `0; url=${address}` };
    await sendPage(reply, { content, headers, cookies: browserRequest.cookies });
  }

  @Get('callback')
  async finish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.admit(request);
    const query = Form.ofQuery(request);
    const browserRequest = await this.browserRequests.read(request);
    const result = await this.singleSignOn.finish(browserOf(browserRequest), {
      state: query.get('state'),
      code: query.get('code'),
      error: query.get('error'),
      issuer: query.get('iss'),
    });
    if ('refusal' in result) return this.refuse(reply, browserRequest, result.refusal, result.returnTo);
    const cookies = [...browserRequest.cookies, ...result.entered.cookies];
    if ('needsFactor' in result.entered) {
      const { publicHost: host, publicUrl } = this.configuration;
      const returnTo = new URL(result.returnTo, publicUrl);
      const content = codePage({ host, returnTo, csrfToken: browserRequest.csrfToken.value });
      const formTargets = ["'self'", ...returnTo.searchParams.getAll('return_to').map(asSource)];
      return sendPage(reply, { content, formTargets, cookies });
    }
    await redirect(reply, result.returnTo, cookies);
  }

  /** @throws NotFound without a provider, TooManyRequests */
  private async admit({ ip }: FastifyRequest): Promise<void> {
    if (!this.configuration.hasSingleSignOn) throw new NotFound('not found');
    await this.rateLimiter.hit(`single-sign-on:${addressKey(ip)}`, REQUESTS_PER_MINUTE);
  }

  private async refuse(
    reply: FastifyReply,
    { cookies }: BrowserRequest,
    refusal: SingleSignOnRefusal,
    returnTo = '/account',
  ): Promise<void> {
    const { publicHost: host, oidcName: name = '' } = this.configuration;
    const content = refusedPage({ host, name, refusal, returnTo });
    await sendPage(reply, { content, status: 403, cookies });
  }
}

function browserOf({ csrfToken, client, session }: BrowserRequest) {
  return {
    derive: (purpose: string) => csrfToken.derive(purpose),
    client,
    session,
  };
}
