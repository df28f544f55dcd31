import type { ComponentChildren, VNode } from 'preact';
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
