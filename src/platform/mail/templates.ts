import { type Content, type Message, messageOf } from './message.js';

/** Values of a mail, all of them text; times are ISO 8601. */
export type Parameters = Readonly<Record<string, string | undefined>>;

type Template = (parameters: Parameters, sender: string) => Content;

const NOT_YOU = 'If it was not you, ignore this mail: without the link nothing happens.';

/** A security notice: of one event, or of several that were gathered. */
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

/** One line for each event, and how many have none. */
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

  'change-email': ({ link = '', expires }, sender) => ({
    subject: 'Confirm your new email address',
    blocks: [
      `Somebody, most likely you, wants to use this email address for an account at ${sender} from now on.`,
      { link, label: 'Use this address' },
      `The link works once, until ${inWords(expires)}. A newer link replaces it.`,
      NOT_YOU,
    ],
  }),

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
