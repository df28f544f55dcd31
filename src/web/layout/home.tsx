import { Get, Headers, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { existsSync, readFileSync } from 'node:fs';
import { lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren, VNode } from 'preact';
import { page } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { Layout, Masthead, prefersHtml, sendPage, SitePage } from './layout.js';
import { PublicPages } from './pages.docs.js';

/** The page at the service's root address, the same for all visitors. */
export function homePage({ host }: { readonly host: string }): VNode {
  return (
    <SitePage title={`Cloud Sync Service on ${host}`} heading="Cloud Sync Service" host={host}>
      <p>
        Keeps workspaces of notes and files in sync between devices. Apps encrypt the data before sending it,
        so this service cannot read it.
      </p>
      <ul>
        <li>
          <a href="/account">Your account</a>
        </li>
        <li>
          <a href="/docs">The API, for app developers</a>
        </li>
        <li>
          <a href="/readme">The readme, for operators</a>
        </li>
      </ul>
      <p class="hint">In your app, enter the address of this page as the server.</p>
    </SitePage>
  );
}

interface MarkdownProps {
  readonly text: string;
  /** The target of a link on this site; undefined shows the words without a link. */
  readonly linkTo: (href: string) => string | undefined;
}

type Render = (tokens: readonly Token[]) => ComponentChildren;

/**
 * Markdown as elements. The renderer of the pages escapes all text, and HTML and images in it are left out, so that no text can
 * produce other elements than these.
 */
export function Markdown({ text, linkTo }: MarkdownProps): VNode {
  const inline: Render = (tokens) => tokens.map((token) => inlineOf(token, inline, linkTo));
  const blocks: Render = (tokens) => tokens.map((token) => blockOf(token, blocks, inline));
  return <div class="readme">{blocks(lexer(text))}</div>;
}

function inlineOf(token: Token, inline: Render, linkTo: MarkdownProps['linkTo']): ComponentChildren {
  switch (token.type) {
    case 'strong':
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case 'em':
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'br':
      return <br />;
    case 'link': {
      const { href, tokens } = token as Tokens.Link;
      const target = linkTo(href);
      return target === undefined ? inline(tokens) : <a href={target}>{inline(tokens)}</a>;
    }
    case 'text':
    case 'escape':
      return 'tokens' in token && token.tokens ? inline(token.tokens) : (token as Tokens.Text).text;
    default:
      return null;
  }
}

function blockOf(token: Token, blocks: Render, inline: Render): ComponentChildren {
  switch (token.type) {
    case 'heading':
      return headingOf(token as Tokens.Heading, inline);
    case 'paragraph':
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case 'text':
      return inline([token]);
    case 'code':
      return (
        <pre class="sample" tabIndex={0} role="group" aria-label="Commands">
          {(token as Tokens.Code).text}
        </pre>
      );
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case 'list': {
      const { ordered, items } = token as Tokens.List;
      const List = ordered ? 'ol' : 'ul';
      return (
        <List>
          {items.map((item) => (
            <li>{blocks(item.tokens)}</li>
          ))}
        </List>
      );
    }
    case 'table':
      return tableOf(token as Tokens.Table, inline);
    default:
      return null;
  }
}

function headingOf({ depth, tokens }: Tokens.Heading, inline: Render): VNode {
  const Heading = depth === 1 ? 'h1' : depth === 2 ? 'h2' : 'h3';
  return <Heading>{inline(tokens)}</Heading>;
}

/** Wide tables scroll in a box of their own, also by the keyboard. */
function tableOf({ header, rows }: Tokens.Table, inline: Render): VNode {
  return (
    <div class="scrolls" tabIndex={0} role="group" aria-label={`Table: ${header.map(nameOf).join(', ')}`}>
      <table>
        <thead>
          <tr>
            {header.map((cell) => (
              <th scope="col">{inline(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{inline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const nameOf = ({ text }: Tokens.TableCell): string => text;

/** Files of the repository that this service has a page for. */
const PAGES: Readonly<Record<string, string>> = {
  'docs/openapi.json': '/openapi.json',
  'docs/reference/routes.md': '/docs',
};

/** The readme as a page; programs get it as plain text. */
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

/** The readme of this version: next to the pages' files in a bundle, else at the root of the repository. */
const README = readFileSync(placeOf(new URL('./assets/readme.md', import.meta.url)));

function placeOf(bundled: URL): URL {
  return existsSync(bundled) ? bundled : above(new URL('..', import.meta.url));
}

function above(directory: URL): URL {
  const file = new URL('README.md', directory);
  return existsSync(file) ? file : above(new URL('..', directory));
}

/** Extension of the contract: the service's root address says what the service is, for programs as well. */
@PublicPages(
  '/',
  {
    home: {
      summary: 'Show the home page',
      answers: { 200: page('the page, also for clients that do not ask for HTML') },
    },
    readme: {
      summary: 'Get the readme of this version',
      answers: {
        200: {
          description: 'Markdown, or a page for browsers',
          content: { 'text/plain': {}, 'text/html': {} },
        },
      },
    },
  },
  'describes the service; contains no user data',
)
export class HomeController {
  constructor(private readonly configuration: Configuration) {}

  @Get()
  async home(@Res() reply: FastifyReply): Promise<void> {
    await sendPage(reply, { content: homePage({ host: this.configuration.publicHost }) });
  }

  @Get('readme')
  async readme(@Headers('accept') accept: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    reply.header('vary', 'Accept');
    if (prefersHtml(accept, 'text/plain')) {
      const { publicHost: host } = this.configuration;
      await sendPage(reply, { content: readmePage({ host, text: README.toString() }) });
      return;
    }
    await reply.type('text/plain; charset=utf-8').send(README);
  }
}
