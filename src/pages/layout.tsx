import type { ComponentChildren, VNode } from 'preact';
import { assetPath, ICON, SCRIPT, STYLESHEET } from './page-assets.js';

interface LayoutProps {
  readonly title: string;
  /** The account page needs more room than a form. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

export function Layout({ title, isWide = false, children }: LayoutProps): VNode {
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
        <script src={assetPath(SCRIPT)} defer />
      </head>
      <body>
        <main class={isWide ? 'wide' : 'card'}>{children}</main>
      </body>
    </html>
  );
}

/** The host of the page, which the address bar must show as well. */
export function Masthead({ host }: { readonly host: string }): VNode {
  return (
    <header class="masthead">
      <img src={assetPath(ICON)} alt="" width={28} height={28} />
      <span>{host}</span>
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
