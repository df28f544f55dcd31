import { page } from '../api-docs/index.js';
import { ANSWERED, FORM, ONWARDS, REFUSED, SUSPENDED } from '../pages/index.js';

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
    leavePassword: LEAVE,
    changePassword: {
      summary: 'Change the password',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED },
    },
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
