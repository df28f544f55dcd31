import { lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren, VNode } from 'preact';

interface MarkdownProps {
  readonly text: string;
  /** Where a link leads on this site; undefined leaves its words without a link. */
  readonly linkTo: (href: string) => string | undefined;
}

type Render = (tokens: readonly Token[]) => ComponentChildren;

/**
 * Markdown as elements. Every text passes through the renderer of the pages, which escapes it: HTML in the text, and images, are
 * left out, so nothing but these elements can come of any text.
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
