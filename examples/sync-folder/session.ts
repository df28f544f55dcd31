import { type Answer, ApiError, type Call, bodyOf, reasonOf, send } from './http.js';

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** A signed-in user. Calls carry a service token that is valid for 15 minutes and is renewed after it has expired. */
export class Session {
  private serviceToken: Promise<string> | undefined;

  private constructor(
    readonly baseUrl: string,
    /** Undefined for a session with an access token. */
    private readonly sessionToken: string | undefined,
  ) {}

  /** Signs in, or signs up when the account does not exist yet. @throws when the server accepts neither */
  static async open(baseUrl: string, credentials: Credentials): Promise<Session> {
    let call = authPost(baseUrl, 'sign-in/email', credentials);
    let answer = await send(baseUrl, call);
    if (answer.status === 401) {
      call = authPost(baseUrl, 'sign-up/email', { ...credentials, name: credentials.email });
      answer = await send(baseUrl, call);
    }
    return Session.of(
      baseUrl,
      call,
      answer,
      `${credentials.email} can neither sign in with this password nor sign up`,
    );
  }

  /** Signs in to an account that exists. @throws when the server refuses, or asks for a second factor */
  static async signIn(baseUrl: string, credentials: Credentials): Promise<Session> {
    const call = authPost(baseUrl, 'sign-in/email', credentials);
    return Session.of(baseUrl, call, await send(baseUrl, call), `${credentials.email} cannot sign in`);
  }

  /** For an access token, which is not renewed. */
  static withToken(baseUrl: string, accessToken: string): Session {
    const session = new Session(baseUrl, undefined);
    session.serviceToken = Promise.resolve(accessToken);
    return session;
  }

  private static of(baseUrl: string, call: Call, answer: Answer, refusal: string): Session {
    if (answer.status !== 200)
      throw new Error(refusal, { cause: new ApiError(answer.status, call, reasonOf(answer)) });
    const { token } = bodyOf(answer) as { token?: string };
    if (token === undefined)
      throw new Error(`${refusal}: the account has a second factor, use an access token`);
    return new Session(baseUrl, token);
  }

  /** @throws ApiError for every status except 2xx and the expected ones */
  async call(call: Call, ...expected: number[]): Promise<Answer> {
    const token = this.token();
    let answer = await this.callWith(await token, call);
    if (answer.status === 401 && this.sessionToken !== undefined) {
      // Many calls may find the token expired at once: the first one renews it, the others wait.
      if (this.serviceToken === token) this.serviceToken = undefined;
      answer = await this.callWith(await this.token(), call);
    }
    if (answer.status < 300 || expected.includes(answer.status)) return answer;
    throw new ApiError(answer.status, call, reasonOf(answer));
  }

  /** A WebSocket URL of this service. It contains the token, because a browser-style WebSocket cannot send headers. */
  async socketAddress(path: string): Promise<string> {
    // Always a fresh token: the socket closes when it expires, and the cached one may have a minute left.
    if (this.sessionToken !== undefined) this.serviceToken = undefined;
    return `${this.baseUrl.replace(/^http/, 'ws')}${path}?token=${await this.token()}`;
  }

  private callWith(token: string, call: Call): Promise<Answer> {
    return send(this.baseUrl, { ...call, headers: { ...call.headers, authorization: `Bearer ${token}` } });
  }

  private token(): Promise<string> {
    this.serviceToken ??= this.freshToken().catch((error: unknown) => {
      this.serviceToken = undefined; // a failure must not be cached for later calls
      throw error;
    });
    return this.serviceToken;
  }

  private async freshToken(): Promise<string> {
    const call: Call = { method: 'GET', path: '/api/auth/token' };
    const answer = await this.callWith(this.sessionToken ?? '', call);
    if (answer.status !== 200) throw new ApiError(answer.status, call, reasonOf(answer));
    return (bodyOf(answer) as { token: string }).token;
  }
}

/** The identity handler refuses a POST without an Origin from clients that look like browsers, and Node's fetch does. */
function authPost(baseUrl: string, route: string, json: unknown): Call {
  return {
    method: 'POST',
    path: `/api/auth/${route}`,
    headers: { origin: new URL(baseUrl).origin },
    json,
    repeatable: false,
  };
}
