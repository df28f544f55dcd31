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
  /** Return the body of the answer as a stream. */
  readonly streams?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Most attempts without an answer, if fewer than the default. */
  readonly attempts?: number;
  /** Whether it may be repeated when its answer was lost; by default, depends on the route. */
  readonly repeatable?: boolean;
}

/** How requests are sent: one `Http` for many sessions, or the options of one. */
export type SessionOptions = HttpOptions | Http;

/** A signed-in account at a service. */
export class Session {
  /** Every JSON route of the API document, typed. Error answers are thrown as ApiError. */
  readonly api: Client<paths>;

  private constructor(
    /** Without a trailing slash. */
    readonly baseUrl: string,
    private readonly http: Http,
    private readonly tokens: TokenProvider,
    /** Store it for `resume`. Danger: it signs in anyone who has it. Undefined for an access token. */
    readonly sessionToken: string | undefined,
  ) {
    this.api = createClient<paths>({ baseUrl, fetch: (request) => this.fetch(request) });
  }

  /**
   * Signs in with email and password. @throws SecondFactorRequired when that is not enough; ApiError 401 for a wrong
   * password, 403 when the service signs in only by another provider
   */
  static async signIn(
    baseUrl: string,
    account: { readonly email: string; readonly password: string },
    options?: SessionOptions,
  ): Promise<Session> {
    const http = httpOf(options);
    return Session.resume(baseUrl, await signedIn(http, rootOf(baseUrl), account), http);
  }

  /** Signs in with the one-time token from the handoff page. It works once, within three minutes. */
  static async withOneTimeToken(
    baseUrl: string,
    oneTimeToken: string,
    options?: SessionOptions,
  ): Promise<Session> {
    const http = httpOf(options);
    return Session.resume(baseUrl, await exchanged(http, rootOf(baseUrl), oneTimeToken), http);
  }

  /** Resumes the session of a stored `sessionToken`. Sends no request. @throws TypeError when the token is malformed */
  static resume(baseUrl: string, sessionToken: string, options?: SessionOptions): Session {
    const [http, root] = [httpOf(options), rootOf(baseUrl)];
    const held = checkToken(sessionToken);
    const tokens = new RenewedToken(() => serviceToken(http, root, held));
    return new Session(root, http, tokens, held);
  }

  /** Uses a personal access token, which is not renewed. Sends no request. @throws TypeError when it is malformed */
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
   * The address of a WebSocket. It contains the token, because a browser's WebSocket sends no headers. The token is always
   * a new one, since the socket lives no longer than its token.
   */
  async socketUrl(path: string): Promise<string> {
    const held = await this.tokens.current();
    const { token } = (await this.tokens.renewed(held)) ?? held;
    return `${this.baseUrl.replace(/^http/, 'ws')}${path}?token=${encodeURIComponent(token)}`;
  }

  /** Ends the session at the service. Does nothing for an access token, which is revoked on the account page. */
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

/** The body of a typed request. @throws InvalidAnswer when the answer is empty */
export async function dataOf<T>(answer: Promise<{ readonly data?: T }>): Promise<T> {
  const { data } = await answer;
  if (data === undefined) throw new InvalidAnswer('the answer of the service is empty');
  return data;
}

const httpOf = (options: SessionOptions = {}): Http =>
  options instanceof Http ? options : new Http(options);
