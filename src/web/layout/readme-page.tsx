import type { VNode } from 'preact';
import { Layout, Masthead } from './layout.js';
import { Markdown } from './markdown.js';

/** Files of the repository that this service has a page for. */
const PAGES: Readonly<Record<string, string>> = {
  'docs/openapi.json': '/openapi.json',
  'docs/reference/routes.md': '/docs',
};

/** The readme for people; programs get it as plain text. */
export function readmePage({ host, text }: { readonly host: string; readonly text: string }): VNode {
  return (
    <Layout title="Readme" isWide>
      <Masthead host={host} at="readme" />
      <Markdown text={text} linkTo={linkTo} />
    </Layout>
  );
}

/** Most links are relative to the repository, which is not served. */
const linkTo = (href: string): string | undefined => (/^https?:\/\//.test(href) ? href : PAGES[href]);
