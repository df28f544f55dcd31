import { type Content, type Message, messageOf } from './message.js';

/** Values of a mail, all of them text; times are ISO 8601. */
export type Parameters = Readonly<Record<string, string | undefined>>;

type Template = (parameters: Parameters, sender: string) => Content;

/**
 * All mails that the service sends. A text may contain only what the service itself has made, never a name or another text of
 * a client: otherwise anybody could have the service send their words to any address.
 */
export const TEMPLATES = {
  test: (_, sender) => ({
    subject: `Test mail from ${sender}`,
    blocks: [`The service at ${sender} can send mail to this address.`],
  }),
} as const satisfies Record<string, Template>;

export type TemplateName = keyof typeof TEMPLATES;

export const isTemplate = (name: string): name is TemplateName => Object.hasOwn(TEMPLATES, name);

/** The mail of `admin mail test`. */
export const testMessage = (sender: string): Message => messageOf(TEMPLATES.test({}, sender), sender);

const FORMAT = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'long', timeStyle: 'short' });

/** A time for people, such as `27 November 2026 at 15:50 UTC`. */
export const inWords = (iso: string | undefined): string => `${FORMAT.format(new Date(iso ?? 0))} UTC`;
