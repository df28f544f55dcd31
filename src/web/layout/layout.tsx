import type { FastifyReply } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { assetPath, DOCS_SCRIPT, DOCS_STYLESHEET, ICON, SCRIPT, STYLESHEET } from './page-assets.js';

interface LayoutProps {
  readonly title: string;
  /** The account page needs more room than a form. */
  readonly isWide?: boolean;
  /** The pages of the API document have a stylesheet and a script of their own. */
  readonly isDocs?: boolean;
  readonly children: ComponentChildren;
}

export function Layout({ title, isWide = false, isDocs = false, children }: LayoutProps): VNode {
  const look = isWide ? 'wide' : 'card';
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{title}</title>
        <link rel="icon" href={assetPath(ICON)} type="image/svg+xml" />
        <link rel="stylesheet" href={assetPath(STYLESHEET)} />
        {isDocs && <link rel="stylesheet" href={assetPath(DOCS_STYLESHEET)} />}
        <script src={assetPath(SCRIPT)} defer />
        {isDocs && <script src={assetPath(DOCS_SCRIPT)} defer />}
      </head>
      <body>
        <main class={isDocs ? 'docs' : look}>{children}</main>
      </body>
    </html>
  );
}

/** Parts of the site, which every page links to. */
const PLACES = { account: 'Account', docs: 'API', readme: 'Readme' } as const;

interface MastheadProps {
  readonly host: string;
  /** The part of the site to which the page belongs. */
  readonly at?: keyof typeof PLACES;
}

/** The header of every page: the host, which the address bar must show as well, and links to the parts of the site. */
export function Masthead({ host, at }: MastheadProps): VNode {
  return (
    <header class="masthead">
      <a href="/">
        <img src={assetPath(ICON)} alt="" width={28} height={28} />
        <span>{host}</span>
      </a>
      <nav aria-label="Site">
        {Object.entries(PLACES).map(([place, name]) => (
          <a key={place} href={`/${place}`} aria-current={place === at ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
    </header>
  );
}

interface SitePageProps extends LayoutProps, MastheadProps {
  /** The title by default. */
  readonly heading?: ComponentChildren;
}

/** A page with the header of all pages and a heading. */
export function SitePage({ host, at, heading, children, ...layout }: SitePageProps): VNode {
  return (
    <Layout {...layout}>
      <Masthead host={host} at={at} />
      <h1>{heading ?? layout.title}</h1>
      {children}
    </Layout>
  );
}

/** A time in UTC; the script converts it to the reader's local time. */
export function Time({ at, isToday = false }: { readonly at: Date; readonly isToday?: boolean }): VNode {
  return (
    <time dateTime={at.toISOString()} data-today={isToday || undefined}>
      {(isToday ? CLOCK : CALENDAR).format(at)} UTC
    </time>
  );
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', timeStyle: 'short' });
const CALENDAR = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  dateStyle: 'medium',
  timeStyle: 'short',
});

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

/** Whether the client explicitly accepts HTML, at least as much as other formats, as browsers do when they open an address. */
export function prefersHtml(accept = '', other = 'application/json'): boolean {
  const html = weightOf(accept, 'text/html');
  return html > 0 && html >= weightOf(accept, other);
}

/** The weight of a media type in `Accept`, 0 to 1; 0 when it is not listed. */
function weightOf(accept: string, type: string): number {
  const range = accept.split(',').find((one) => one.split(';', 1)[0]?.trim().toLowerCase() === type);
  if (range === undefined) return 0;
  const weight = Number(/;\s*q=([\d.]+)/i.exec(range)?.[1] ?? 1);
  return Number.isNaN(weight) ? 0 : weight;
}
