/** What the audit log records. Names are stored and shown: once released, they do not change. */
export const AUDIT_ACTIONS = [
  'account.deleted',
  'account.resumed',
  'account.suspended',
  'email.changed',
  'email.verified',
  'password.changed',
  'password.reset',
  'sign-in.new-client',
  'token.minted',
  'token.revoked',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who acted: the account's own user, an operator on the command line, an administrator on the admin page, or a job. */
export type AuditActor = 'user' | 'operator' | 'administrator' | 'service';
