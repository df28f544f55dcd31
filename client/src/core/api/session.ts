import createClient, { type Client } from 'openapi-fetch';
import {
  ApiError,
  checkToken,
  fixedToken,
  Http,
  type HttpOptions,
  InvalidAnswer,
  RenewedToken,
  type RequestBody,
  sendAuthorized,
  type TokenProvider,
} from '../http/index.js';
import { exchanged, post, rootOf, serviceToken, signedIn } from './identity.js';
import { isRepeatable } from './repeatable.js';
import type { paths } from './schema.js';

/** A request with the rights of the session. `path` begins with a slash, and is relative to the service. */
export interface SessionRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  /** The body of the answer is handed over as it comes. */
  readonly streams?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The most attempts without an answer, if fewer than usual. */
  readonly attempts?: number;
  /** Whether it may be sent again when its answer was lost; by its route unless told. */
  readonly repeatable?: boolean;
}

/** How requests are sent: one `Http` for many sessions, or the options of one. */
export type SessionOptions = HttpOptions | Http;

/** A signed-in account at a service. */
export class Session {
  /** Every route of the API document that has JSON, typed. Refusals are thrown as ApiError. */
  readonly api: Client<paths>;

  private constructor(
    /** Without a slash at its end. */
    readonly baseUrl: string,
    private readonly http: Http,
    private readonly tokens: TokenProvider,
    /** To be kept for `resume`: whoever has it is signed in. Undefined for an access token. */
    readonly sessionToken: string | undefined,
  ) {
    this.api = createClient<paths>({ baseUrl, fetch: (request) => this.fetch(request) });
  }

  /**
   * Signs in with email and password. @throws SecondFactorRequired when that is not enough; ApiError 401 for a wrong
   * password, 403 where the service signs in by another provider alone
   */
  static async signIn(
    baseUrl: string,
    account: { readonly email: string; readonly password: string },
    options?: SessionOptions,
  ): Promise<Session> {
    const http = httpOf(options);
    return Session.resume(baseUrl, await signedIn(http, rootOf(baseUrl), account), http);
  }

  /** Signs in with the one-time token that the handoff page gives, which works once, within three minutes. */
  static async withOneTimeToken(
    baseUrl: string,
    oneTimeToken: string,
    options?: SessionOptions,
  ): Promise<Session> {
    const http = httpOf(options);
    return Session.resume(baseUrl, await exchanged(http, rootOf(baseUrl), oneTimeToken), http);
  }

  /** Goes on with the `sessionToken` of an earlier session. Sends nothing yet. @throws TypeError when the token is malformed */
  static resume(baseUrl: string, sessionToken: string, options?: SessionOptions): Session {
    const [http, root] = [httpOf(options), rootOf(baseUrl)];
    const held = checkToken(sessionToken);
    const tokens = new RenewedToken(() => serviceToken(http, root, held));
    return new Session(root, http, tokens, held);
  }

  /** With a personal access token, which is not renewed. Sends nothing yet. @throws TypeError when the token is malformed */
  static withAccessToken(baseUrl: string, accessToken: string, options?: SessionOptions): Session {
    return new Session(rootOf(baseUrl), httpOf(options), fixedToken(checkToken(accessToken)), undefined);
  }

  /** @throws ApiError for every status but 2xx and 304; NetworkError without an answer; SignInRequired */
  async send({ path, ...request }: SessionRequest): Promise<Response> {
    const url = this.baseUrl + path;
    const repeatable = request.repeatable ?? isRepeatable(request.method, path);
    const answer = await sendAuthorized(this.http, this.tokens, { ...request, url, repeatable });
    if (answer.ok || answer.status === 304) return answer;
    throw await ApiError.of({ method: request.method, url }, answer);
  }

  /**
   * The address of a WebSocket. It has the token in it, because a browser's WebSocket sends no headers: always a new
   * one, since the socket lives no longer than its token.
   */
  async socketUrl(path: string): Promise<string> {
    const held = await this.tokens.current();
    const { token } = (await this.tokens.renewed(held)) ?? held;
    return `${this.baseUrl.replace(/^http/, 'ws')}${path}?token=${encodeURIComponent(token)}`;
  }

  /** Ends the session at the service. Nothing to do for an access token, which is revoked on the account page. */
  async signOut(): Promise<void> {
    if (this.sessionToken === undefined) return;
    const headers = { authorization: `Bearer ${this.sessionToken}` };
    await post(this.http, this.baseUrl, '/api/auth/sign-out', {}, headers);
  }

  private async fetch(request: Request): Promise<Response> {
    const { method, url, signal } = request;
    const body = new Uint8Array(await request.arrayBuffer());
    return this.send({
      method: method as SessionRequest['method'],
      path: url.slice(this.baseUrl.length),
      headers: Object.fromEntries(request.headers),
      signal,
      ...(body.length > 0 && { body }),
    });
  }
}

/** The value of a typed request. @throws InvalidAnswer when the answer is empty */
export async function dataOf<T>(answer: Promise<{ readonly data?: T }>): Promise<T> {
  const { data } = await answer;
  if (data === undefined) throw new InvalidAnswer('the answer of the service is empty');
  return data;
}

const httpOf = (options: SessionOptions = {}): Http =>
  options instanceof Http ? options : new Http(options);
