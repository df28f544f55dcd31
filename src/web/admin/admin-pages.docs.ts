import { ERROR, page } from '../../platform/api-docs/index.js';
import { ANSWERED, FORM, ONWARDS } from '../layout/index.js';

/** As for an unknown address: JSON, and a page for browsers. */
const HIDDEN = {
  description: 'nothing is here for the caller',
  content: { 'application/json': ERROR, 'text/html': {} },
};

const STALE = page('a form that asks for the password');

const SHOWN = { 200: page('the page'), 403: STALE, 404: HIDDEN };

const ACTED = {
  ...ANSWERED,
  303: ONWARDS,
  404: HIDDEN,
  409: page('the page, which says why it was not done'),
} as const;

const AFTER = { description: 'Only what comes after this.' };

export const ACCOUNTS_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    list: {
      summary: 'List the accounts, for administrators',
      query: { search: { description: 'Part of an address or a name.' }, after: AFTER },
      answers: SHOWN,
    },
    confirm: { summary: 'Confirm the password, for administrators', body: FORM, answers: ACTED },
    show: {
      summary: 'Show an account, for administrators',
      path: { userId: { description: 'The id of the account.' } },
      answers: SHOWN,
    },
    act: {
      summary: 'Act on an account, for administrators',
      path: {
        userId: { description: 'The id of the account.' },
        action: {
          description:
            'suspend, resume, end-sessions, reset-password, reset-factors, unlink, grant, demote or delete.',
        },
      },
      body: FORM,
      answers: { 200: page('the new password, which is shown only once'), ...ACTED },
    },
  },
} as const;

export const SERVICE_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: { summary: 'Show health, jobs, kill switch and checks, for administrators', answers: SHOWN },
    setKillSwitch: { summary: 'Set the kill switch, for administrators', body: FORM, answers: ACTED },
    startDoctor: {
      summary: 'Start a check of the stored data, for administrators',
      body: FORM,
      answers: ACTED,
    },
  },
} as const;

export const INVITATIONS_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: { summary: 'List the open invitations, for administrators', answers: SHOWN },
    invite: {
      summary: 'Invite somebody, for administrators',
      body: FORM,
      answers: { 200: page('the link, which is shown only once'), ...ACTED },
    },
    revoke: { summary: 'Revoke an invitation, for administrators', body: FORM, answers: ACTED },
  },
} as const;

export const AUDIT_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'Show the audit log, for administrators',
      query: {
        user: { description: 'The address or the id of an account.' },
        before: { description: 'The id of an event: only older ones.' },
      },
      answers: { ...SHOWN, 400: 'before is not the id of an event' },
    },
  },
} as const;
