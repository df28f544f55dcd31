import { page, type Parameters } from '../platform/openapi/index.js';

const STATE = {
  client_state: {
    description: 'Random, made by the client, 16 to 512 of `A-Z a-z 0-9 _ -`; it comes back with the token.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{16,512}$' },
    isRequired: true,
  },
} as const satisfies Parameters;

const FORM = {
  type: 'application/x-www-form-urlencoded',
  description: 'A form of the page itself, with the token that binds it to this browser.',
} as const;

const SUSPENDED = 'the account of this browser is suspended';
const BAD_LINK = 'the link is not in order';
const WITH_FAULTS = page('the page again, with what was wrong');

const REFUSED = {
  400: 'the form is not in order',
  403: 'no form of this page, or none of this browser; signing up may be switched off, or the account suspended',
  413: 'the form is too large',
  415: 'no form',
};

const ANSWERED = { ...REFUSED, 422: WITH_FAULTS };

export const DESKTOP_HANDOFF_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    ask: {
      summary: 'Sign in for the desktop app',
      description: 'The page signs people in and leads back to the app with a one-time token.',
      query: {
        ...STATE,
        scheme: { description: 'That of the app, when it is not the first: `APP_SCHEME-APP_NAME`.' },
      },
      answers: { 200: page('the page'), 400: BAD_LINK, 403: SUSPENDED },
    },
    answer: {
      summary: 'The form of the page',
      body: FORM,
      answers: {
        200: page('a link to the app: `<scheme>://auth/callback?token=…&client_state=…`'),
        ...ANSWERED,
      },
    },
  },
} as const;

const ONWARDS = {
  description: 'onwards',
  headers: { Location: 'Where to.', 'Set-Cookie': 'The session, where it has changed.' },
} as const;

export const WEB_HANDOFF_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    ask: {
      summary: 'Sign in for a web editor',
      query: {
        ...STATE,
        return_to: { description: 'One of the configured callbacks, exactly.', isRequired: true },
      },
      answers: { 200: page('the page'), 400: BAD_LINK, 403: SUSPENDED },
    },
    answer: {
      summary: 'The form of the page',
      body: FORM,
      answers: { 303: { ...ONWARDS, description: 'to `return_to?token=…&client_state=…`' }, ...ANSWERED },
    },
  },
} as const;

export const PAGE_ASSETS_DOCS = {
  tag: 'Pages',
  operations: {
    get: {
      summary: 'What the pages load',
      path: { name: { description: 'With a hash of the content in it.' } },
      answers: {
        200: {
          description: 'stylesheet, script or icon',
          content: { 'text/css': {}, 'text/javascript': {}, 'image/svg+xml': {} },
        },
        404: 'there is no such file',
      },
    },
  },
} as const;

const DONE = { body: FORM, answers: { 303: ONWARDS, ...REFUSED } } as const;
const LEAVE = { summary: 'Back to the account page', answers: { 303: ONWARDS } } as const;

export const ACCOUNT_PAGE_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'The account page, or the form to sign in',
      answers: { 200: page('the page'), 403: SUSPENDED },
    },
    signIn: { summary: 'Sign in or up', body: FORM, answers: { 303: ONWARDS, ...ANSWERED } },
    signOut: { summary: 'Sign out', ...DONE },
    endSession: { summary: 'End a session', ...withAbsent('session not found') },
    endOtherSessions: { summary: 'End all other sessions', ...DONE },
  },
} as const;

export const ACCOUNT_BELONGINGS_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    removeDevice: { summary: 'Remove a device', ...withAbsent('device not found') },
    leaveTokens: LEAVE,
    mintToken: {
      summary: 'Make a personal access token',
      body: FORM,
      answers: {
        200: page('the account page with the token, shown once'),
        303: ONWARDS,
        ...ANSWERED,
        404: 'workspace not found',
      },
    },
    revokeToken: { summary: 'Revoke a personal access token', ...withAbsent('token not found') },
    leaveBilling: LEAVE,
    openBilling: {
      summary: 'To the portal of the payment provider, or where to buy',
      body: FORM,
      answers: {
        200: page('a page with the link'),
        303: ONWARDS,
        ...REFUSED,
        409: 'subscriptions are switched off, or there is one already',
      },
    },
  },
} as const;

function withAbsent(absent: string) {
  return { body: FORM, answers: { ...DONE.answers, 404: absent } } as const;
}
