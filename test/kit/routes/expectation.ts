import { type Bearer, type Credential, isActive, isOwner } from './credentials.js';
import { type Match, serving, type Spelling } from './forms.js';
import type { Example, Route, Target } from './route-table.js';

/** One request of the matrix, and the status that the specification requires. */
export interface Cell {
  readonly form: string;
  readonly spelling: Spelling;
  readonly example: Example;
  readonly status: number;
}

export interface Asked {
  readonly spelling: Spelling;
  readonly example: Example;
  readonly target: Target;
  readonly isBroken: boolean;
}

/** The order of checks: unknown route, bearer, suspension, scope, subscription, ownership, validation, the operation's own. */
export function expectedStatus(credential: Credential, asked: Asked): number {
  const match = serving(asked.spelling);
  if (!match || (match.route.hasNoHead && asked.spelling.method === 'HEAD')) return 404;
  const { route } = match;
  if (route.access === 'public') {
    const answer = ownAnswer(match, asked);
    return answer === route.status ? (route.statusFor?.[credential.name] ?? answer) : answer;
  }

  const { bearer } = credential;
  if (!bearer) return 401;
  if (bearer.user === 'gone') return route.seesDeletedUsers ? 404 : 401;
  if (bearer.user === 'suspended' || !isGranted(route, bearer)) return 403;
  if (route.needsSubscription && !isActive(bearer) && !isExempt(route, bearer)) return 402;
  if (route.ownsWorkspace && !isLetIn(match, bearer, asked.target)) return 404;
  const answer = ownAnswer(match, asked);
  if (answer >= 400) return answer;
  if (route.ownsItem && !isOwner(bearer)) return 404;
  if (route.namesWorkspace && !mayNameWorkspace(bearer)) return 404;
  return isActive(bearer) ? answer : (route.statusWhenLapsed ?? answer);
}

function isGranted({ access, isUnbound }: Route, { pat }: Bearer): boolean {
  if (!pat) return true;
  if (!Array.isArray(access) || (isUnbound && pat.bound)) return false;
  return pat.scopes.includes('full') || pat.scopes.some((scope) => access.includes(scope));
}

const isExempt = ({ unlessGranted }: Route, { pat }: Bearer): boolean =>
  unlessGranted !== undefined && pat?.scopes.includes(unlessGranted) === true;

function isLetIn({ params }: Match, bearer: Bearer, { workspaceId }: Target): boolean {
  // A spelling can change what is in the path, but neither a header nor the query.
  const isNamed = params.id === undefined || params.id.toLowerCase() === workspaceId;
  return isNamed && mayNameWorkspace(bearer);
}

const mayNameWorkspace = (bearer: Bearer): boolean => isOwner(bearer) && bearer.pat?.bound !== 'elsewhere';

/** The status when nobody is refused: of a parameter that the spelling changes, of a fault, or of success. */
function ownAnswer({ route, params }: Match, { example, isBroken }: Asked): number {
  const isWorkspace = (name: string): boolean => name === 'id' && route.ownsWorkspace === true;
  const names = Object.keys(params).filter((name) => !isWorkspace(name));
  if (names.some((name) => params[name] !== example.params?.[name])) return route.malformed ?? 404;
  return isBroken ? 400 : (route.status ?? 200);
}
