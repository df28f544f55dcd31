import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';

/** The header that passes the client's address to the identity handler; a value sent by the client is overwritten. */
export const CLIENT_ADDRESS_HEADER = 'x-client-address';

/** The client of a request, as recorded with sessions and in the audit log. */
export interface Client {
  readonly ip: string;
  readonly userAgent: string;
}

/** Longer user agents are cut. */
export const MAX_USER_AGENT = 512;

/** The columns of a session for its client. */
export const columnsOfClient = ({ ip, userAgent }: Client): { ipAddress: string; userAgent: string } => ({
  ipAddress: ip,
  userAgent: userAgent.slice(0, MAX_USER_AGENT),
});

/** The client of a request to the identity handler. */
export function clientOf(headers: Headers | undefined): Client {
  return { ip: headers?.get(CLIENT_ADDRESS_HEADER) ?? '', userAgent: headers?.get('user-agent') ?? '' };
}

/** State of an identity handler request, for the callbacks that the library makes during it. */
export interface IdentityRequest {
  readonly ip: string;
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal;
  /** Whether this is a sign-in, where an unknown account must take as long as a wrong password. */
  readonly isSignIn: boolean;
  /** Whether the action may begin sessions; no other may, whatever its body asks for. */
  readonly mayBeginSession: boolean;
  /** Every password hash that this request has verified or created. */
  readonly hashes: Set<string>;
  /** Whether a password was wrong, or there was no account to check it against. */
  isWrong: boolean;
  /** A password that was right; `renewed` replaces its hash if that is outdated. */
  proof?: { readonly password: string; readonly hash: string; readonly renewed: string | undefined };
  /** Created before the library opens a transaction, which would hold a connection during hashing. */
  prepared?: { readonly password: string; readonly hash: string };
  /** The id of the credential that this request signs in with. */
  passkey?: string;
  /** Whether this request signs in with a second factor: a code or a passkey. */
  hasFactor?: true;
  /** The id of the session that this request changes its user's passkeys with. */
  ownSession?: string;
  /** Undoes the count of this sign-in as one with a wrong password. */
  takeBack?: () => Promise<void>;
  /** The answer is delayed until this time of `performance.now()`. */
  answerAt?: number;
  /** The first fault from PostgreSQL. */
  fault?: Error;
}

const BEGINS_SESSIONS =
  /\/(?:sign-in\/email|sign-up\/email|two-factor\/verify-totp|two-factor\/verify-backup-code|passkey\/verify-authentication)$/;

/** One for the process: on Node.js 20, every AsyncLocalStorage ever used permanently adds a cost to each promise. */
export const identityRequests = new AsyncLocalStorage<IdentityRequest>();

/**
 * Runs a request of the identity handler.
 * @throws the PostgreSQL fault that occurred, regardless of the handler's answer to it, and any error that is not an answer of
 *   the handler
 */
export async function inIdentityRequest(
  webRequest: Request,
  handler: (request: Request) => Promise<Response>,
  isExpectedFault: (fault: Error, request: Request) => boolean,
): Promise<Response> {
  const { pathname } = new URL(webRequest.url);
  const request: IdentityRequest = {
    ip: webRequest.headers.get(CLIENT_ADDRESS_HEADER) ?? '',
    gone: webRequest.signal,
    isSignIn: pathname.endsWith('/sign-in/email'),
    mayBeginSession: BEGINS_SESSIONS.test(pathname),
    hashes: new Set(),
    isWrong: false,
  };
  const faultOf = (): Error | undefined =>
    request.fault && !isExpectedFault(request.fault, webRequest) ? request.fault : undefined;
  return identityRequests.run(request, async () => {
    try {
      const answer = await handler(webRequest);
      const fault = faultOf();
      if (fault) throw fault;
      if (request.answerAt !== undefined) await pause(Math.max(0, request.answerAt - performance.now()));
      return answer;
    } catch (error) {
      throw faultOf() ?? error;
    } finally {
      if (!request.isWrong) await request.takeBack?.();
    }
  });
}

export interface IdentityAction {
  /** Whether it creates or changes an account. */
  readonly isWrite?: true;
  /** Whether it takes a guessable secret, so that attempts are counted. */
  readonly isGuessable?: true;
  /** Whether it needs passwords, which OIDC_ONLY switches off. */
  readonly isPassword?: true;
  /** Whether it exists only where the service can send mail. */
  readonly needsMail?: true;
  /** The accepted members of the body; others are refused, where a misspelt one would leave a setting unchanged. */
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

/** The error for a password while OIDC_ONLY is set. */
export const NO_PASSWORDS = 'passwords are switched off: sign in through the provider';

/** @returns undefined when the service does not offer the action */
export function identityAction(method: string, path: string): IdentityAction | undefined {
  const name = `${method} ${path}`;
  return Object.hasOwn(IDENTITY_ACTIONS, name) ? IDENTITY_ACTIONS[name as IdentityActionName] : undefined;
}
