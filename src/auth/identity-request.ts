import { AsyncLocalStorage } from 'node:async_hooks';

/** The header in which the bridge hands over the client's address; a client's own is overwritten. */
export const CLIENT_ADDRESS_HEADER = 'x-client-address';

/** The state of a request of the identity handler, for the callbacks that the library makes during it. */
export interface IdentityRequest {
  /** The address of the client. */
  readonly ip: string;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
  /** Whether it is a sign-in, in which an unknown account must take as long as a wrong password. */
  readonly isSignIn: boolean;
  /** Each password hash that the request has found right, or has made. */
  readonly hashes: Set<string>;
  /** Whether a password was found wrong, or there was no account to check it against. */
  isWrong: boolean;
  /** A password that was found right: what replaces its hash when that is outdated. */
  proof?: { readonly password: string; readonly hash: string; readonly renewed: string | undefined };
  /** Made before the library opens a transaction, which would hold a connection meanwhile. */
  prepared?: { readonly password: string; readonly hash: string };
  /** Takes back that the sign-in was counted as one with a wrong password. */
  takeBack?: () => Promise<void>;
  /** The first fault of PostgreSQL. */
  fault?: Error;
}

/** One for the process: each such storage that was ever used costs every promise of Node.js 20 something, for good. */
export const identityRequests = new AsyncLocalStorage<IdentityRequest>();

/**
 * Answers a request of the identity handler.
 * @throws the fault of PostgreSQL that it has met, whatever it would answer for it, and what else is no answer of its own
 */
export async function inIdentityRequest(
  webRequest: Request,
  handler: (request: Request) => Promise<Response>,
  isTolerated: (fault: Error, request: Request) => boolean,
): Promise<Response> {
  const request: IdentityRequest = {
    ip: webRequest.headers.get(CLIENT_ADDRESS_HEADER) ?? '',
    gone: webRequest.signal,
    isSignIn: new URL(webRequest.url).pathname.endsWith('/sign-in/email'),
    hashes: new Set(),
    isWrong: false,
  };
  const faultOf = (): Error | undefined =>
    request.fault && !isTolerated(request.fault, webRequest) ? request.fault : undefined;
  return identityRequests.run(request, async () => {
    try {
      const answer = await handler(webRequest);
      const fault = faultOf();
      if (fault) throw fault;
      return answer;
    } catch (error) {
      throw faultOf() ?? error;
    } finally {
      if (!request.isWrong) await request.takeBack?.();
    }
  });
}
