interface IdentityAction {
  /** Whether it makes or changes an account. */
  readonly isWrite?: true;
  /** Whether what it takes can be guessed, so that tries are counted. */
  readonly isGuessable?: true;
}

/** What of the identity handler is reachable below /api/auth; the library brings more than this service offers. */
const IDENTITY_ACTIONS = {
  'POST sign-up/email': { isWrite: true, isGuessable: true },
  'POST sign-in/email': { isGuessable: true },
  'GET get-session': {},
  'GET list-sessions': {},
  'POST revoke-session': {},
  'POST revoke-other-sessions': {},
  'POST change-password': { isWrite: true, isGuessable: true },
  'POST update-user': { isWrite: true },
  'GET one-time-token/generate': {},
  'POST one-time-token/verify': {},
  'GET token': {},
  'GET jwks': {},
  'POST sign-out': {},
} as const satisfies Record<string, IdentityAction>;

export type IdentityActionName = keyof typeof IDENTITY_ACTIONS;

/** @returns undefined when it is not offered */
export function identityAction(method: string, path: string): IdentityAction | undefined {
  const name = `${method} ${path}`;
  return Object.hasOwn(IDENTITY_ACTIONS, name) ? IDENTITY_ACTIONS[name as IdentityActionName] : undefined;
}
