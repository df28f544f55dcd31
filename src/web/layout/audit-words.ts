import type { AuditDetails, AuditEvent } from '../../domain/auth/audit/index.js';
import { BadRequest } from '../../platform/http/index.js';
import type { Form } from './browser-requests.js';

type Words = string | ((details: AuditDetails) => string);

const KEY_SLOTS: Readonly<Record<string, string>> = {
  password: 'Vault password',
  recovery: 'Recovery key',
  passkey: 'Passkey',
};

const named = (name: AuditDetails[string] | undefined): string =>
  name === undefined ? '' : `${String(name)} `;

const WORDS: Readonly<Record<string, Words>> = {
  'account.deleted': 'Account deleted',
  'account.demoted': 'No longer an administrator',
  'account.exported': 'Data exported',
  'account.invited': ({ email }) => `Invitation sent to ${String(email ?? 'an address')}`,
  'account.joined': 'Account made from an invitation',
  'account.promoted': 'Made an administrator',
  'account.resumed': 'Suspension ended',
  'account.suspended': 'Account suspended',
  'doctor.run': 'Check of the stored data started',
  'email.changed': 'Email address changed',
  'email.verified': 'Email address confirmed',
  'factor.added': 'Second factor added',
  'factor.codes-renewed': 'Backup codes renewed',
  'factor.removed': 'Second factor removed',
  'factor.reset': 'Second factor reset',
  'failover.handled': 'Failover of the database handled',
  'invitation.revoked': ({ email }) => `Invitation of ${String(email ?? 'an address')} revoked`,
  'key-session.opened': ({ workspace }) => `Workspace ${named(workspace)}opened for the Automation API`,
  'key-slot.removed': ({ workspace, kind }) =>
    `${KEY_SLOTS[String(kind)] ?? 'Key slot'} of workspace ${named(workspace)}removed`,
  'key-slot.set': ({ workspace, kind }) =>
    `${KEY_SLOTS[String(kind)] ?? 'Key slot'} of workspace ${named(workspace)}set`,
  'kill-switch.set': ({ mode }) => `Kill switch set to ${String(mode ?? 'another mode')}`,
  'password.changed': ({ revokedTokens }) =>
    `Password changed${revokedTokens ? ', and all access tokens revoked' : ''}`,
  'password.reset': 'Password reset',
  'plan.granted': ({ status, until }) =>
    `Plan set to ${String(status ?? 'another status')}${until ? ` until ${String(until).slice(0, 10)} UTC` : ''}`,
  'sessions.ended': ({ sessions }) => (sessions === 1 ? 'Signed out one client' : 'Signed out other clients'),
  'sign-in.development': 'Signed in with the key for development',
  'sign-in.new-client': 'Signed in with a client not seen before',
  'single-sign-on.linked': ({ provider }) => `Connected to ${String(provider || 'single sign-on')}`,
  'single-sign-on.unlinked': ({ provider }) => `Disconnected from ${String(provider || 'single sign-on')}`,
  'token.minted': ({ name, scopes }) =>
    name === undefined ? 'Access token made' : `Access token ${String(name)} made, for ${String(scopes)}`,
  'token.revoked': ({ name }) =>
    name === undefined ? 'Access token revoked' : `Access token ${String(name)} revoked`,
  'workspace.deleted': ({ workspace }) => `Workspace ${named(workspace)}deleted`,
};

/** A sentence about an event, for people. The events of deleted accounts have no details. */
export function auditSentence({ action, details }: Pick<AuditEvent, 'action' | 'details'>): string {
  const words: Words = WORDS[action] ?? action;
  return typeof words === 'string' ? words : words(details);
}

/** The position of a page of events, from the query; undefined for the newest. @throws BadRequest */
export function positionIn(query: Form): number | undefined {
  const before = query.text('before');
  if (before === '') return undefined;
  if (!/^[1-9]\d{0,14}$/.test(before)) throw new BadRequest('before is not the id of an event');
  return Number(before);
}
