import { ApiError, type Http, InvalidAnswer, SignInRequired } from '../http/index.js';
import { SecondFactorRequired } from './errors.js';
import { isRepeatable } from './repeatable.js';

/** @returns the token of a new session @throws SecondFactorRequired; ApiError */
export async function signedIn(
  http: Http,
  root: string,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<string> {
  const answer = await post(http, root, '/api/auth/sign-in/email', { email, password });
  const { token, twoFactorRedirect } = answer as { token?: unknown; twoFactorRedirect?: unknown };
  if (twoFactorRedirect === true) throw new SecondFactorRequired(email);
  return textOf(token);
}

/** @returns the token of the session that a one-time token was issued for */
export async function exchanged(http: Http, root: string, oneTimeToken: string): Promise<string> {
  const answer = await post(http, root, '/api/auth/one-time-token/verify', { token: oneTimeToken });
  const { session } = answer as { session?: { token?: unknown } };
  return textOf(session?.token);
}

/** @throws TypeError when the address is not an HTTP URL */
export function rootOf(baseUrl: string): string {
  const { protocol, origin, pathname } = new URL(baseUrl);
  if (!/^https?:$/.test(protocol)) throw new TypeError(`${baseUrl} is not the address of a service`);
  return origin + pathname.replace(/\/+$/, '');
}

function textOf(token: unknown): string {
  if (typeof token !== 'string' || token === '') throw new InvalidAnswer('the service gave no token');
  return token;
}

export async function post(
  http: Http,
  root: string,
  path: string,
  json: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const request = { method: 'POST', url: root + path, repeatable: isRepeatable('POST', path) } as const;
  const typed = { 'content-type': 'application/json', ...headers };
  const answer = await http.send({ ...request, headers: typed, body: JSON.stringify(json) });
  if (!answer.ok) throw await ApiError.of(request, answer);
  return answer.json();
}

/** A token that is valid for 15 minutes. @throws SignInRequired when the session has ended */
export async function serviceToken(http: Http, root: string, sessionToken: string): Promise<string> {
  const headers = { authorization: `Bearer ${sessionToken}` };
  const request = { method: 'GET', url: `${root}/api/auth/token`, headers, repeatable: true } as const;
  const answer = await http.send(request);
  if (answer.status === 401) throw new SignInRequired('the session has ended: sign in again');
  if (!answer.ok) throw await ApiError.of(request, answer);
  return textOf(((await answer.json()) as { token?: unknown }).token);
}
