/** What the audit log records. Names are stored and shown: once released, they do not change. */
export const AUDIT_ACTIONS = [
  'account.deleted',
  'account.demoted',
  'account.exported',
  'account.invited',
  'account.joined',
  'account.promoted',
  'account.resumed',
  'account.suspended',
  'doctor.run',
  'email.changed',
  'email.verified',
  'factor.added',
  'factor.codes-renewed',
  'factor.removed',
  'factor.reset',
  'failover.handled',
  'invitation.revoked',
  'key-session.opened',
  'key-slot.removed',
  'key-slot.set',
  'kill-switch.set',
  'password.changed',
  'password.reset',
  'plan.granted',
  'sessions.ended',
  'sign-in.development',
  'sign-in.new-client',
  'single-sign-on.linked',
  'single-sign-on.unlinked',
  'token.minted',
  'token.revoked',
  'workspace.deleted',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who acted: the account's own user, an operator on the command line, an administrator on the admin page, or a job. */
export type AuditActor = 'user' | 'operator' | 'administrator' | 'service';

/** Shown to the user and to administrators: no secrets. */
export type AuditDetails = Readonly<Record<string, string | number | boolean>>;
