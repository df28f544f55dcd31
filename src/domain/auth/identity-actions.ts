export interface IdentityAction {
  /** Whether it creates or changes an account. */
  readonly isWrite?: true;
  /** Whether it takes a guessable secret, so that attempts are counted. */
  readonly isGuessable?: true;
  /** Whether it needs passwords, which OIDC_ONLY switches off. */
  readonly isPassword?: true;
  /** Whether it exists only where the service can send mail. */
  readonly needsMail?: true;
  /** For settings of the account: its members. Others are refused, where a misspelt one would leave a setting as it is. */
  readonly members?: readonly string[];
}

const OF_CHANGE = ['currentPassword', 'newPassword', 'revokeOtherSessions', 'revokeAccessTokens'];
const OF_RESET = ['token', 'newPassword', 'revokeAccessTokens'];
const PROFILE = ['name', 'image', 'email']; // the library refuses `email` itself

/** The actions of the identity handler that are reachable under /api/auth; the library has more than this service offers. */
const IDENTITY_ACTIONS = {
  'POST sign-up/email': { isWrite: true, isGuessable: true, isPassword: true },
  'POST sign-in/email': { isGuessable: true, isPassword: true },
  'GET get-session': {},
  'GET list-sessions': {},
  'POST revoke-session': {},
  'POST revoke-other-sessions': {},
  'POST change-password': { isWrite: true, isGuessable: true, isPassword: true, members: OF_CHANGE },
  'POST request-password-reset': { isWrite: true, isPassword: true, needsMail: true },
  'POST send-verification-email': { isWrite: true, needsMail: true },
  'POST reset-password': {
    isWrite: true,
    isGuessable: true,
    isPassword: true,
    needsMail: true,
    members: OF_RESET,
  },
  'POST two-factor/enable': { isWrite: true, isGuessable: true, members: ['password'] },
  'POST two-factor/verify-totp': { isGuessable: true },
  'POST two-factor/verify-backup-code': { isGuessable: true },
  'POST two-factor/generate-backup-codes': { isWrite: true, isGuessable: true, members: ['password'] },
  'POST two-factor/disable': { isWrite: true, isGuessable: true, members: ['password'] },
  'GET passkey/generate-register-options': {},
  'POST passkey/verify-registration': { isWrite: true },
  'GET passkey/generate-authenticate-options': {},
  'POST passkey/verify-authentication': { isGuessable: true, isPassword: true },
  'GET passkey/list-user-passkeys': {},
  'POST passkey/update-passkey': { isWrite: true, members: ['id', 'name'] },
  'POST passkey/delete-passkey': { isWrite: true, members: ['id'] },
  'POST update-user': { isWrite: true, members: PROFILE },
  'GET one-time-token/generate': {},
  'POST one-time-token/verify': {},
  'GET token': {},
  'GET jwks': {},
  'POST sign-out': {},
} as const satisfies Record<string, IdentityAction>;

export type IdentityActionName = keyof typeof IDENTITY_ACTIONS;

/** The answer to a password while OIDC_ONLY is set. */
export const NO_PASSWORDS = 'passwords are switched off: sign in through the provider';

/** @returns undefined when the service does not offer the action */
export function identityAction(method: string, path: string): IdentityAction | undefined {
  const name = `${method} ${path}`;
  return Object.hasOwn(IDENTITY_ACTIONS, name) ? IDENTITY_ACTIONS[name as IdentityActionName] : undefined;
}
