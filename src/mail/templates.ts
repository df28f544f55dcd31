import { type Content, type Message, messageOf } from './message.js';

/** Values of a mail, all of them text; times are ISO 8601. */
export type Parameters = Readonly<Record<string, string | undefined>>;

type Template = (parameters: Parameters, sender: string) => Content;

const NOT_YOU = 'If it was not you, ignore this mail: without the link nothing happens.';

/**
 * All mails that the service sends. A text may contain only what the service itself has made, never a name or another text of
 * a client: otherwise anybody could have the service send their words to any address.
 */
export const TEMPLATES = {
  test: (_, sender) => ({
    subject: `Test mail from ${sender}`,
    blocks: [`The service at ${sender} can send mail to this address.`],
  }),

  'reset-password': ({ link = '', expires }, sender) => ({
    subject: 'Choose a new password',
    blocks: [
      `Somebody, most likely you, asked for a new password for your account at ${sender}.`,
      { link, label: 'Choose a new password' },
      `The link works once, until ${inWords(expires)}. A newer link replaces it.`,
      NOT_YOU,
    ],
  }),

  'verify-email': ({ link = '', expires }, sender) => ({
    subject: 'Confirm your email address',
    blocks: [
      `Somebody, most likely you, made an account at ${sender} with this email address. Confirm the address to sign in.`,
      { link, label: 'Confirm the address' },
      `The link works once, until ${inWords(expires)}. A newer link replaces it.`,
      NOT_YOU,
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

  'change-email': ({ link = '', expires }, sender) => ({
    subject: 'Confirm your new email address',
    blocks: [
      `Somebody, most likely you, wants to use this email address for an account at ${sender} from now on.`,
      { link, label: 'Use this address' },
      `The link works once, until ${inWords(expires)}. A newer link replaces it.`,
      NOT_YOU,
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
