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

export interface Message {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Link that turns off mails of this kind; undefined for mails that cannot be turned off. */
  readonly unsubscribe?: string | undefined;
}

/**
 * @param sender the service as the recipient knows it, such as `sync.example.org`
 * @param unsubscribe the link that turns off mails of this kind; it is in the text as well as in the header
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

/** Mail programs ignore style sheets, so the styles are inline. No remote content, so that opening a mail reveals nothing. */
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

/** Values of a mail, all of them text; times are ISO 8601. */
export type Parameters = Readonly<Record<string, string | undefined>>;

type Template = (parameters: Parameters, sender: string) => Content;

const NOT_YOU = 'If it was not you, ignore this mail: without the link nothing happens.';

/** A mail with a link that works once. */
const withLink = (
  subject: string,
  reason: string,
  label: string,
  { link = '', expires }: Parameters,
): Content => ({
  subject,
  blocks: [
    reason,
    { link, label },
    `The link works once, until ${inWords(expires)}. A newer link replaces it.`,
    NOT_YOU,
  ],
});

/** A security notice about one event, or about several gathered ones. */
function notice(subject: string, parameters: Parameters): Content {
  const { at, from, link = '', count = '1' } = parameters;
  const isOne = count === '1';
  const ofOne = { Time: inWords(at), ...(from === undefined ? {} : { 'From the network address': from }) };
  return {
    subject: isOne ? subject : `${subject} (${count} times)`,
    blocks: [
      isOne ? `${subject}.` : `${subject}, ${count} times since the last mail about it.`,
      { facts: isOne ? ofOne : listed(parameters) },
      'If it was you, there is nothing to do. If not, change your password, end the other sign-ins and revoke the access tokens that you do not know:',
      { link, label: 'Your account' },
    ],
  };
}

/** One line for each event, and the number of events without a line. */
function listed({ events = '', count }: Parameters): Record<string, string> {
  const lines = events.split('\n').map((event) => event.split(' '));
  const facts = lines.map(([at, from], index) => [
    `${index + 1}`,
    from ? `${inWords(at)}, from ${from}` : inWords(at),
  ]);
  const more = Number(count) - lines.length;
  if (more > 0) facts.push(['More', `${more}, which the activity of your account lists`]);
  return Object.fromEntries(facts) as Record<string, string>;
}

/**
 * All mails that the service sends. A text may contain only what the service itself has generated, never a name or other text
 * from a client: otherwise anyone could use the service to send arbitrary text to any address.
 */
export const TEMPLATES = {
  test: (_, sender) => ({
    subject: `Test mail from ${sender}`,
    blocks: [`The service at ${sender} can send mail to this address.`],
  }),

  'reset-password': (parameters, sender) =>
    withLink(
      'Choose a new password',
      `Somebody, most likely you, asked for a new password for your account at ${sender}.`,
      'Choose a new password',
      parameters,
    ),

  'verify-email': (parameters, sender) =>
    withLink(
      'Confirm your email address',
      `Somebody, most likely you, made an account at ${sender} with this email address. Confirm the address to sign in.`,
      'Confirm the address',
      parameters,
    ),

  invitation: ({ link = '', expires }, sender) => ({
    subject: `Your invitation to ${sender}`,
    blocks: [
      `Whoever runs ${sender} invites you to make an account there with this email address.`,
      { link, label: 'Make your account' },
      `The link works once, until ${inWords(expires)}. A newer invitation replaces it.`,
      'If you do not expect an invitation, ignore this mail: without the link nothing happens.',
    ],
  }),

  'address-taken': ({ link = '' }, sender) => ({
    subject: 'You have an account already',
    blocks: [
      `Somebody, most likely you, wanted to use this email address for an account at ${sender}. There is one with this address already, and nothing has been changed.`,
      { link, label: 'Sign in' },
      'If you have forgotten the password, you can choose a new one there.',
      'If it was not you, ignore this mail.',
    ],
  }),

  'change-email': (parameters, sender) =>
    withLink(
      'Confirm your new email address',
      `Somebody, most likely you, wants to use this email address for an account at ${sender} from now on.`,
      'Use this address',
      parameters,
    ),

  'email-changed': ({ at }, sender) => ({
    subject: 'Your email address was changed',
    blocks: [
      `Your account at ${sender} has another email address since ${inWords(at)}. Mails to this address end here.`,
      'If it was not you, write to whoever runs the service at once: somebody else can use your account.',
    ],
  }),

  'password-changed': (parameters, sender) =>
    notice(`The password of your account at ${sender} was changed`, parameters),

  'factor-changed': (parameters, sender) =>
    notice(`The second factor of your account at ${sender} was changed`, parameters),

  'single-sign-on-linked': (parameters, sender) =>
    notice(`Your account at ${sender} can now be used through another provider's sign-in`, parameters),

  'single-sign-on-unlinked': (parameters, sender) =>
    notice(`Your account at ${sender} can no longer be used through another provider's sign-in`, parameters),

  'new-sign-in': (parameters, sender) => notice(`New sign-in to your account at ${sender}`, parameters),

  'full-token': (parameters, sender) =>
    notice(`An access token that may do everything was made for your account at ${sender}`, parameters),

  'trial-ends': ({ at, link = '' }, sender) => ({
    subject: 'Your trial ends soon',
    blocks: [
      `The trial of your account at ${sender} ends on ${inWords(at)}. Nothing is deleted then: you can still read and download everything, but not upload.`,
      { link, label: 'Your account' },
    ],
  }),

  'payment-failed': ({ at, link = '' }, sender) => ({
    subject: 'A payment failed',
    blocks: [
      `A payment for your account at ${sender} failed on ${inWords(at)}. Check your means of payment, so that uploads go on.`,
      { link, label: 'Your account' },
    ],
  }),
} as const satisfies Record<string, Template>;

export type TemplateName = keyof typeof TEMPLATES;

export const isTemplate = (name: string): name is TemplateName => Object.hasOwn(TEMPLATES, name);

/** The mail of `admin mail test`. */
export const testMessage = (sender: string): Message => messageOf(TEMPLATES.test({}, sender), sender);

const FORMAT = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'long', timeStyle: 'short' });

/** A time for people, such as `27 November 2026 at 15:50 UTC`. */
export const inWords = (iso: string | undefined): string => `${FORMAT.format(new Date(iso ?? 0))} UTC`;
