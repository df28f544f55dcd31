import type { FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';

/** An answer for people. */
export interface Page {
  /** 200 unless said. */
  readonly status?: number;
  /** The whole document. */
  readonly content: VNode;
  /** Where the forms on it lead in the end; nowhere unless said. Browsers hold redirects to it too. */
  readonly formTargets?: readonly string[];
  /** Set-Cookie headers. */
  readonly cookies?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Nothing but our own stylesheet, script and icon; nothing inline, so that markup put in by somebody does nothing. */
const SOURCES = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'";

const ISOLATION =
  "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** `no-store`, `no-referrer` and the like are on every answer of the service, see platform/http. */
export async function sendPage(reply: FastifyReply, page: Page): Promise<void> {
  await reply.send(asPage(reply, page));
}

/** Makes the answer that page, but for its body, which is returned. */
export function asPage(reply: FastifyReply, page: Page): string {
  const formTargets = page.formTargets?.join(' ') ?? "'none'";
  setCookies(reply, page.cookies);
  void reply
    .status(page.status ?? 200)
    .headers({
      'content-security-policy': `${SOURCES}; form-action ${formTargets}; ${ISOLATION}`,
      ...page.headers,
    })
    .type('text/html; charset=utf-8');
  return `<!doctype html>${renderToString(page.content)}`;
}

/** 303 See Other, to an address that is ours or was found to be allowed. */
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

/** An address as a source of a Content-Security-Policy: without its query, and without what ends a source there. */
export function asSource(address: string): string {
  const { origin, pathname } = new URL(address);
  return origin + pathname.replace(/[;,]/g, encodeURIComponent);
}
