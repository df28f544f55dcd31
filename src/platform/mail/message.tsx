import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';

/** A part of a mail: a paragraph, a link to follow, or labelled facts. */
export type Block =
  | string
  | { readonly link: string; readonly label: string }
  | { readonly facts: Readonly<Record<string, string>> };

/** The content of a mail, from which both its plain text and its HTML are made. */
export interface Content {
  readonly subject: string;
  readonly blocks: readonly Block[];
}

/** A mail, ready to be sent. */
export interface Message {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The link that turns mails of this kind off; undefined where nobody may. */
  readonly unsubscribe?: string | undefined;
}

/**
 * @param sender the service as the recipient knows it, such as `sync.example.org`
 * @param unsubscribe the link that turns mails of this kind off; it is in the text as well as in the header
 */
export function messageOf(content: Content, sender: string, unsubscribe?: string): Message {
  const { subject } = content;
  const off = unsubscribe === undefined ? [] : [{ link: unsubscribe, label: 'Turn off mails of this kind' }];
  const blocks = [...content.blocks, ...off];
  const footer = `This mail was sent by ${sender}. It is not possible to reply to it.`;
  const text = `${blocks.map(asText).join('\n\n')}\n\n-- \n${footer}\n`;
  const html = `<!doctype html>${renderToString(<Letter {...{ subject, blocks, footer }} />)}`;
  return { subject, text, html, unsubscribe };
}

function asText(block: Block): string {
  if (typeof block === 'string') return block;
  if ('link' in block) return `${block.label}:\n${block.link}`;
  return Object.entries(block.facts)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

/** Mail programs ignore style sheets, so the styles are inline. No image and no remote content: a mail tells nobody that it was read. */
function Letter(props: Content & { readonly footer: string }): VNode {
  const { subject, blocks, footer } = props;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{subject}</title>
      </head>
      <body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif">
        <div style="max-width:34em;margin:0 auto">
          <h1 style="font-size:20px;line-height:1.3">{subject}</h1>
          {blocks.map((block) => (
            <Part block={block} />
          ))}
          <p style="margin-top:32px;font-size:14px;opacity:.75">{footer}</p>
        </div>
      </body>
    </html>
  );
}

function Part({ block }: { readonly block: Block }): VNode {
  if (typeof block === 'string') return <p>{block}</p>;
  if ('link' in block)
    return (
      <p>
        <a href={block.link} style="font-weight:600">
          {block.label}
        </a>
        <br />
        <span style="font-size:14px;overflow-wrap:anywhere">{block.link}</span>
      </p>
    );
  return (
    <table role="presentation" style="border-spacing:0">
      {Object.entries(block.facts).map(([name, value]) => (
        <tr>
          <td style="padding:2px 16px 2px 0;opacity:.75;vertical-align:top">{name}</td>
          <td style="padding:2px 0;overflow-wrap:anywhere">{value}</td>
        </tr>
      ))}
    </table>
  );
}
