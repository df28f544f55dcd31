import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  Injectable,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { Configuration } from '../../platform/config/index.js';
import { errorAnswer } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';
import { asPage, prefersHtml, sendPage, SitePage } from './layout.js';

interface Failure {
  readonly host: string;
  readonly status: number;
  readonly detail: string;
  readonly requestId: string;
  /** The value of Retry-After, seconds. */
  readonly retryAfter?: string | undefined;
}

interface Words {
  readonly heading: string;
  readonly advice: string;
}

const WORDS: Readonly<Record<number, Words>> = {
  400: {
    heading: 'This link does not work',
    advice: 'Go back to the app or the website that sent you here and start again from there.',
  },
  401: { heading: 'You are not signed in', advice: 'Sign in to your account, then open this address again.' },
  403: {
    heading: 'This request was refused',
    advice:
      'Go back, reload the page and try again. If that changes nothing, ask the operator of this service.',
  },
  404: {
    heading: 'Page not found',
    advice: 'The address may be misspelt, or the page no longer exists. You can continue here:',
  },
  405: { heading: 'The request failed', advice: 'Go back and use the buttons of the page.' },
  408: { heading: 'This took too long', advice: 'Check your connection, then go back and send it again.' },
  409: {
    heading: 'This is no longer possible',
    advice: 'Something has changed in the meantime. Go back, reload the page and try again.',
  },
  413: { heading: 'The request is too large', advice: 'Go back and send less.' },
  415: { heading: 'The request failed', advice: 'Go back, reload the page and fill in the form again.' },
  429: { heading: 'Too many requests', advice: 'Nothing was changed.' },
  503: { heading: 'Temporarily unavailable', advice: 'Nothing was changed.' },
  507: {
    heading: 'There is no space left',
    advice: 'Delete what you no longer need, or choose a larger plan on the account page.',
  },
};

/** Texts of their own for some refusals, by the message of the API. */
const BY_DETAIL: Readonly<Record<string, Words>> = {
  'the account is suspended': {
    heading: 'This account is suspended',
    advice: 'Nobody can sign in to it for now. Its data is kept. Ask the operator of this service.',
  },
};

const OTHER: Words = { heading: 'The request failed', advice: 'Go back and start again.' };
const FAULT: Words = {
  heading: 'Something went wrong',
  advice:
    'Go back and check the result before you try again. If it happens again, give the number of the request to the ' +
    'operator of this service.',
};

/** An error page for people; the request's id is for the operator. */
export function errorPage({ host, status, detail, requestId, retryAfter }: Failure): VNode {
  const { heading, advice } = BY_DETAIL[detail] ?? WORDS[status] ?? (status < 500 ? OTHER : FAULT);
  const hasWait = status === 429 || status === 503;
  return (
    <SitePage title={heading} host={host}>
      <p>
        {advice}
        {hasWait && ` ${waitOf(retryAfter)}`}
      </p>
      {status === 401 && (
        <p>
          <a href="/account">Sign in</a>
        </p>
      )}
      {status === 404 && (
        <p>
          <a href="/">About this service</a> · <a href="/account">Your account</a> ·{' '}
          <a href="/docs">The API</a>
        </p>
      )}
      <p class="hint">
        {status}: {detail}.
        <br />
        Request {requestId}
      </p>
    </SitePage>
  );
}

const SECONDS_OF_A_MINUTE = 60;

/** @param retryAfter seconds; defaults to a minute */
function waitOf(retryAfter: string | undefined): string {
  const seconds = Math.max(1, Number(retryAfter ?? SECONDS_OF_A_MINUTE) || SECONDS_OF_A_MINUTE);
  const minutes = Math.ceil(seconds / SECONDS_OF_A_MINUTE);
  const wait =
    seconds < SECONDS_OF_A_MINUTE
      ? `${seconds} second${seconds === 1 ? '' : 's'}`
      : `${minutes} minute${minutes === 1 ? '' : 's'}`;
  return `Wait ${wait}, then try again.`;
}

/** Errors of browser routes: the status that the API would answer, as a page. */
@Catch()
@Injectable()
export class PageErrorFilter implements ExceptionFilter {
  constructor(
    private readonly configuration: Configuration,
    private readonly log: Log,
  ) {}

  async catch(error: unknown, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { status, headers, body } = errorAnswer(error, request.id, this.log);
    if (reply.sent) return;
    const content = errorPage({
      host: this.configuration.publicHost,
      status,
      detail: String(body.error),
      requestId: request.id,
      retryAfter: headers['retry-after'],
    });
    await sendPage(reply, { status, headers, content });
  }
}

/** The pages, and addresses near them that people may type by hand. */
const PAGES = /^\/(?:account|auth|readme)?(?:[/?]|$)/;

/** Prefixes that only programs use: they always get the API's JSON. */
const PROGRAMS = /^\/(?:api|health|openapi\.json)(?:[/?]|$)/;

/**
 * Refusals that happen before any handler, and therefore before the filter: the kill switch, overload, an invalid address. A
 * browser, which requests HTML, gets them as pages; other clients get the API's JSON. The page does not repeat the address.
 */
@Injectable()
export class EarlyErrorPages implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly configuration: Configuration,
  ) {}

  onModuleInit(): void {
    const adapter = this.host.httpAdapter as FastifyAdapter | null; // the admin command has none
    if (!adapter) return;
    adapter.getInstance().addHook('onSend', (request, reply, payload, done) => {
      done(null, isRefusal(request, reply) ? this.page(request, reply, payload) : payload);
    });
  }

  private page(request: FastifyRequest, reply: FastifyReply, payload: unknown): string {
    const { statusCode: status } = reply;
    const { error } = JSON.parse(String(payload)) as { error: string };
    const { publicHost: host } = this.configuration;
    const retryAfter = reply.getHeader('retry-after')?.toString();
    const content = errorPage({ host, status, detail: error, requestId: request.id, retryAfter });
    return asPage(reply, { status, content });
  }
}

function isRefusal({ url, routeOptions, method, headers }: FastifyRequest, reply: FastifyReply): boolean {
  const path = routeOptions.url ?? url; // the route's, because a path can be spelled in many ways
  if (reply.statusCode < 400 || PROGRAMS.test(path) || !prefersHtml(headers.accept)) return false;
  const isJson = String(reply.getHeader('content-type')).startsWith('application/json');
  return isJson && (PAGES.test(path) || ['GET', 'HEAD'].includes(method));
}
