import { page } from '../api-docs/index.js';
import { ANSWERED, FORM, ONWARDS, REFUSED, SUSPENDED } from '../pages/index.js';

const DONE = { body: FORM, answers: { 303: ONWARDS, ...REFUSED } } as const;
const LEAVE = { summary: 'Redirect to the account page', answers: { 303: ONWARDS } } as const;

export const ACCOUNT_PAGE_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'Show the account page or the sign-in form',
      answers: { 200: page('the page'), 403: SUSPENDED },
    },
    signIn: { summary: 'Sign in or sign up', body: FORM, answers: { 303: ONWARDS, ...ANSWERED } },
    leavePassword: LEAVE,
    changePassword: {
      summary: 'Change the password',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED },
    },
    signOut: { summary: 'Sign out', ...DONE },
    endSession: { summary: 'Revoke a session', ...withAbsent('session not found') },
    endOtherSessions: { summary: 'Revoke all other sessions', ...DONE },
  },
} as const;

export const ACCOUNT_EMAIL_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    leave: LEAVE,
    change: {
      summary: 'Have a link sent to another email address',
      description: 'The answer is the same for an address that has an account.',
      body: FORM,
      answers: { 303: ONWARDS, ...ANSWERED, 404: 'the service cannot send mail' },
    },
  },
} as const;

export const ACCOUNT_BELONGINGS_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    removeDevice: { summary: 'Delete a device', ...withAbsent('device not found') },
    leaveTokens: LEAVE,
    mintToken: {
      summary: 'Create a personal access token',
      body: FORM,
      answers: {
        200: page('the account page with the token, which is shown only once'),
        303: ONWARDS,
        ...ANSWERED,
        404: 'workspace not found',
      },
    },
    revokeToken: { summary: 'Revoke a personal access token', ...withAbsent('token not found') },
    leaveBilling: LEAVE,
    openBilling: {
      summary: 'Open the billing portal or the checkout page',
      body: FORM,
      answers: {
        200: page('a page with the link'),
        303: ONWARDS,
        ...REFUSED,
        409: 'subscriptions are disabled, or the account already has one',
      },
    },
  },
} as const;

function withAbsent(absent: string) {
  return { body: FORM, answers: { ...DONE.answers, 404: absent } } as const;
}
