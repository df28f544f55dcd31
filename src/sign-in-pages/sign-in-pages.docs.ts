import { page, type Parameters } from '../api-docs/index.js';
import { ANSWERED, FORM, ONWARDS, SUSPENDED } from '../pages/index.js';

const STATE = {
  client_state: {
    description: 'Random, made by the client, 16 to 512 of `A-Z a-z 0-9 _ -`; it comes back with the token.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{16,512}$' },
    isRequired: true,
  },
} as const satisfies Parameters;

const BAD_LINK = 'the link is not in order';

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
