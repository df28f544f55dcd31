import { page } from '../../platform/api-docs/index.js';

export const FORM = {
  type: 'application/x-www-form-urlencoded',
  description: 'A form of this page, with the token that binds it to this browser.',
} as const;

export const SUSPENDED = 'the account of this browser is suspended';
const WITH_FAULTS = page('the page again, with the errors');

export const REFUSED = {
  400: 'the form is invalid',
  403: 'the form is not from this page or not from this browser, sign-up is closed, or the account is suspended',
  413: 'the form is too large',
  415: 'the body is not a form',
};

export const ANSWERED = { ...REFUSED, 422: WITH_FAULTS };

export const ONWARDS = {
  description: 'a redirect',
  headers: { Location: 'The URL of the next page.', 'Set-Cookie': 'The session cookie, if it has changed.' },
} as const;

export const HOME_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
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
} as const;

export const PAGE_ASSETS_DOCS = {
  tag: 'Pages',
  operations: {
    get: {
      summary: 'Get a stylesheet, script or icon of the pages',
      path: { name: { description: 'The file name, which contains a hash of the content.' } },
      answers: {
        200: {
          description: 'the stylesheet, script or icon',
          content: { 'text/css': {}, 'text/javascript': {}, 'image/svg+xml': {} },
        },
        404: 'there is no such file',
      },
    },
  },
} as const;
