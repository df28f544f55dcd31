import { page } from '../api-docs/index.js';

export const FORM = {
  type: 'application/x-www-form-urlencoded',
  description: 'A form of the page itself, with the token that binds it to this browser.',
} as const;

export const SUSPENDED = 'the account of this browser is suspended';
const WITH_FAULTS = page('the page again, with what was wrong');

export const REFUSED = {
  400: 'the form is not in order',
  403: 'no form of this page, or none of this browser; signing up may be switched off, or the account suspended',
  413: 'the form is too large',
  415: 'no form',
};

export const ANSWERED = { ...REFUSED, 422: WITH_FAULTS };

export const ONWARDS = {
  description: 'onwards',
  headers: { Location: 'Where to.', 'Set-Cookie': 'The session, where it has changed.' },
} as const;

export const HOME_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    home: { summary: 'What this is', answers: { 200: page('the page, also for who does not ask for HTML') } },
    readme: {
      summary: 'The readme of this version',
      answers: { 200: { description: 'Markdown', content: { 'text/plain': {} } } },
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
