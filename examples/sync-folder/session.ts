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
    private readonly sessionToken: string,
  ) {}

  /** Signs in, or signs up when the account does not exist yet. @throws when the server accepts neither */
  static async open(baseUrl: string, credentials: Credentials): Promise<Session> {
    let call = authPost(baseUrl, 'sign-in/email', credentials);
    let answer = await send(baseUrl, call);
    if (answer.status === 401) {
      call = authPost(baseUrl, 'sign-up/email', { ...credentials, name: credentials.email });
      answer = await send(baseUrl, call);
    }
    if (answer.status !== 200) {
      const cause = new ApiError(answer.status, call, reasonOf(answer));
      throw new Error(`${credentials.email} can neither sign in with this password nor sign up`, { cause });
    }
    return new Session(baseUrl, (bodyOf(answer) as { token: string }).token);
  }

  /** @throws ApiError for every status except 2xx and the expected ones */
  async call(call: Call, ...expected: number[]): Promise<Answer> {
    const token = this.token();
    let answer = await this.callWith(await token, call);
    if (answer.status === 401) {
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
    this.serviceToken = undefined;
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
    const answer = await this.callWith(this.sessionToken, call);
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
