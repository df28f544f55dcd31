import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';

/** The header that passes the client's address to the identity handler; a value sent by the client is overwritten. */
export const CLIENT_ADDRESS_HEADER = 'x-client-address';

/** Where a request of the identity handler comes from. */
export function clientOf(headers: Headers | undefined): { ip: string; userAgent: string } {
  return { ip: headers?.get(CLIENT_ADDRESS_HEADER) ?? '', userAgent: headers?.get('user-agent') ?? '' };
}

/** State of an identity handler request, for the callbacks that the library makes during it. */
export interface IdentityRequest {
  readonly ip: string;
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal;
  /** Whether this is a sign-in, where an unknown account must take as long as a wrong password. */
  readonly isSignIn: boolean;
  /** Whether the action is one that begins sessions; no other may, whatever its body asks for. */
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
  /** The answer waits until then, a moment of `performance.now()`. */
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
