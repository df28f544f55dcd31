import type { Operation } from './api-document.js';
import type { OperationParts } from './operation-parts.js';

/** Names of the schemes for the session of the identity handler: an app sends its token, a browser its cookie. */
const OF_SESSION = ['sessionToken', 'sessionCookie'] as const;

/** What a request must prove; any one of the alternatives is enough. */
export function securityOf({ operation, policy, secretHeaders }: OperationParts): Operation['security'] {
  const { session, headers = {} } = operation;
  const alternatives = session ? OF_SESSION.map((name) => ({ [name]: [] })) : policy.security;
  const secrets = Object.keys(headers).flatMap((name) => secretHeaders.get(name) ?? []);
  const needed = Object.fromEntries(secrets.map((name) => [name, []]));
  const all = alternatives.map((one) => ({ ...one, ...needed }));
  return session === 'optional' ? [...all, {}] : all;
}
