interface IdentityAction {
  /** Whether it creates or changes an account. */
  readonly isWrite?: true;
  /** Whether it takes a guessable secret, so that attempts are counted. */
  readonly isGuessable?: true;
  /** Whether it exists only where the service can send mail. */
  readonly needsMail?: true;
}

/** The actions of the identity handler that are reachable under /api/auth; the library has more than this service offers. */
const IDENTITY_ACTIONS = {
  'POST sign-up/email': { isWrite: true, isGuessable: true },
  'POST sign-in/email': { isGuessable: true },
  'GET get-session': {},
  'GET list-sessions': {},
  'POST revoke-session': {},
  'POST revoke-other-sessions': {},
  'POST change-password': { isWrite: true, isGuessable: true },
  'POST request-password-reset': { isWrite: true, needsMail: true },
  'POST send-verification-email': { isWrite: true, needsMail: true },
  'POST reset-password': { isWrite: true, isGuessable: true, needsMail: true },
  'POST update-user': { isWrite: true },
  'GET one-time-token/generate': {},
  'POST one-time-token/verify': {},
  'GET token': {},
  'GET jwks': {},
  'POST sign-out': {},
} as const satisfies Record<string, IdentityAction>;

export type IdentityActionName = keyof typeof IDENTITY_ACTIONS;

/** @returns undefined when the service does not offer the action */
export function identityAction(method: string, path: string): IdentityAction | undefined {
  const name = `${method} ${path}`;
  return Object.hasOwn(IDENTITY_ACTIONS, name) ? IDENTITY_ACTIONS[name as IdentityActionName] : undefined;
}
