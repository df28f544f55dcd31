import { page } from '../../platform/api-docs/index.js';
import { ANSWERED, FORM, ONWARDS, REFUSED } from '../layout/index.js';

const NO_MAIL = 'the service cannot send mail';

export const FORGOT_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'Show the form for a forgotten password',
      answers: { 200: page('the page'), 404: NO_MAIL },
    },
    request: {
      summary: 'Have a link for a new password sent',
      description: 'The answer is the same whether or not the address has an account.',
      body: FORM,
      answers: { ...ANSWERED, 200: page('the request is accepted'), 404: NO_MAIL },
    },
  },
} as const;

export const RESET_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'Show the form for a new password',
      description:
        'The link in the mail. It uses nothing: the token moves into a cookie, and the browser to the form.',
      query: { token: { description: 'The token of the link.' } },
      answers: {
        200: page('the form'),
        303: ONWARDS,
        404: NO_MAIL,
        422: page('the link does not work any more'),
      },
    },
    change: {
      summary: 'Choose a new password',
      body: FORM,
      answers: {
        ...REFUSED,
        200: page('the password is changed'),
        404: NO_MAIL,
        422: page('the page again, with the errors, or the link does not work any more'),
      },
    },
  },
} as const;

/** The two requests of a page behind a link that confirms an address. */
const confirming = (what: string) =>
  ({
    show: {
      summary: `Show the page behind the link that confirms ${what}`,
      description: 'It uses nothing: the token moves into a cookie, and the browser to the form.',
      query: { token: { description: 'The token of the link.' } },
      answers: {
        200: page('the page'),
        303: ONWARDS,
        404: NO_MAIL,
        422: page('the link does not work any more'),
      },
    },
    confirm: {
      summary: `Confirm ${what}`,
      body: FORM,
      answers: {
        ...REFUSED,
        200: page('the address is confirmed'),
        404: NO_MAIL,
        422: page('the page again, with the errors, or the link does not work any more'),
      },
    },
  }) as const;

export const VERIFY_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    ...confirming('the address of a new account'),
    send: {
      summary: 'Have another link to confirm the address sent',
      body: FORM,
      answers: { ...REFUSED, 200: page('the request is accepted'), 404: NO_MAIL },
    },
  },
} as const;

export const NEW_ADDRESS_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: confirming('another address of an account'),
} as const;

const UNKNOWN_LINK = page('the link was not made by this service');

export const UNSUBSCRIBE_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'Show the page behind the link that turns off mails of one kind',
      description: 'It changes nothing.',
      query: { token: { description: 'The token of the link.' } },
      answers: { 200: page('the page'), 404: NO_MAIL, 422: UNKNOWN_LINK },
    },
    mute: {
      summary: 'Turn off mails of one kind',
      description:
        'Mail providers post here (RFC 8058): without cookies, with any body or none. It can be repeated, and is answered the same for an account that does not exist any more.',
      query: { token: { description: 'The token of the link.' } },
      answers: { 200: page('these mails are off'), 404: NO_MAIL, 422: UNKNOWN_LINK },
    },
  },
} as const;
