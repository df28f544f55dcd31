import type { FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';

/** An HTML answer. */
export interface Page {
  /** Defaults to 200. */
  readonly status?: number;
  /** The whole document. */
  readonly content: VNode;
  /** Allowed targets of the page's forms; none by default. Browsers apply this to redirects as well. */
  readonly formTargets?: readonly string[];
  /** The values of the Set-Cookie headers. */
  readonly cookies?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Allows only our own stylesheet, script and icon and nothing inline, so that injected markup has no effect. The script calls
 * the API for passkeys.
 */
const SOURCES = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'";

const ISOLATION =
  "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Headers such as `no-store` and `no-referrer` are set on every answer of the service, see platform/http. */
export async function sendPage(reply: FastifyReply, page: Page): Promise<void> {
  await reply.send(asPage(reply, page));
}

/** The Content-Security-Policy of a page. @param formTargets sources to which its forms may lead */
export const contentPolicy = (formTargets: readonly string[] = ["'none'"]): string =>
  `${SOURCES}; form-action ${formTargets.join(' ')}; ${ISOLATION}`;

/** The whole document as text. */
export const pageText = (content: VNode): string => `<!doctype html>${renderToString(content)}`;

/** Sets the page's status and headers on the answer, and returns its body. */
export function asPage(reply: FastifyReply, page: Page): string {
  setCookies(reply, page.cookies);
  void reply
    .status(page.status ?? 200)
    .headers({
      'content-security-policy': contentPolicy(page.formTargets),
      ...page.headers,
    })
    .type('text/html; charset=utf-8');
  return pageText(page.content);
}

/** 303 See Other. Danger: `location` must be our own address, or one checked to be allowed. */
export async function redirect(
  reply: FastifyReply,
  location: string,
  cookies: readonly string[] = [],
): Promise<void> {
  setCookies(reply, cookies);
  await reply.status(303).header('location', location).send();
}

function setCookies(reply: FastifyReply, cookies: readonly string[] = []): void {
  for (const cookie of cookies) void reply.header('set-cookie', cookie);
}

/** An address as a Content-Security-Policy source: without its query, and with characters escaped that would end the source. */
export function asSource(address: string): string {
  const { origin, pathname } = new URL(address);
  return origin + pathname.replace(/[;,]/g, encodeURIComponent);
}
