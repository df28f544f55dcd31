import { Reflector } from '@nestjs/core';
import {
  ACCESS,
  type Access,
  NAMED_WORKSPACE,
  OWNED_WORKSPACE,
  REQUIRES_SUBSCRIPTION,
  type Scope,
  SCOPES,
  UNBOUND,
  UNLIMITED,
} from '../../access/index.js';
import { type ControllerClass, type Handler, type OperationPolicy, UUID } from '../../platform/api-docs/index.js';

/** How requests authenticate. */
export const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A service JWT, or a personal access token with one of the listed scopes (`full` includes all of them). A ' +
      'token that is bound to a workspace cannot access any other.',
  },
  interactive: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'Only a service JWT. A personal access token is refused, whatever its scopes are.',
  },
  sessionToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The session token from `set-auth-token` or from the handoff, for apps. It opens `/api/auth/` and nothing else.',
  },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'better-auth.session_token',
    description:
      'The session of a browser. Over https its name begins with `__Secure-`. A POST with a cookie also needs the ' +
      '`Origin` of a trusted site.',
  },
  keySession: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Key-Session',
    description: 'The key session that opens the workspace. It is sent together with the bearer token.',
  },
};

const reflector = new Reflector();

const NAMING = 'The workspace. `workspaceId`, `X-Workspace-Id` or both must name it.';

/** The effect of a route's decorators on clients, as the guards apply it. */
export function policyOf(handler: Handler, controller: ControllerClass): OperationPolicy {
  const targets = [handler, controller as unknown as Handler];
  const has = (key: string): boolean => reflector.getAllAndOverride<unknown>(key, targets) !== undefined;
  const access = reflector.getAllAndOverride<Access>(ACCESS, targets);
  const isNamed = has(NAMED_WORKSPACE);
  return {
    security: securityOf(access),
    answers: defined({
      ...(isNamed && { 400: 'no workspace is named, or two different ones are' }),
      ...(access.kind !== 'public' && { 401: 'a valid bearer token is required' }),
      ...(has(REQUIRES_SUBSCRIPTION) && { 402: 'an active subscription is required' }),
      ...forbidden(access, has(UNBOUND)),
      ...(has(OWNED_WORKSPACE) && { 404: 'workspace not found' }),
      ...(!has(UNLIMITED) && { 429: 'too many requests' }),
      ...(!isHealth(controller) && { 503: 'temporarily unavailable; a retry may succeed' }),
    }),
    ...(!isNamed &&
      has(OWNED_WORKSPACE) && { path: { id: { description: 'The workspace.', schema: UUID } } }),
    ...(isNamed && {
      query: { workspaceId: { description: NAMING, schema: UUID } },
      headers: { 'X-Workspace-Id': { description: NAMING, schema: UUID } },
    }),
  };
}

/** Any one of the scopes is enough. */
function securityOf(access: Access): OperationPolicy['security'] {
  if (access.kind === 'public') return [];
  if (access.kind === 'interactive') return [{ interactive: [] }];
  if (isForAll(access.scopes)) return [{ bearer: [] }];
  return access.scopes.map((scope) => ({ bearer: [scope] }));
}

function forbidden(access: Access, isUnbound: boolean): Record<number, string> {
  if (access.kind === 'public') return {};
  const causes = [
    ...(access.kind === 'interactive' ? ['an interactive session is required'] : []),
    ...(access.kind === 'bearer' && !isForAll(access.scopes) ? ['the token lacks the scope'] : []),
    ...(isUnbound ? ['the token is bound to a workspace'] : []),
  ];
  return { 403: [...causes, 'the account is suspended'].join(', or ') };
}

const defined = (answers: Readonly<Record<number, string | undefined>>): OperationPolicy['answers'] =>
  answers as OperationPolicy['answers'];

const isForAll = (scopes: readonly Scope[]): boolean => SCOPES.every((scope) => scopes.includes(scope));

/** Health routes, which the kill switch does not affect. */
const isHealth = (controller: ControllerClass): boolean =>
  Reflect.getMetadata('path', controller) === 'health';
