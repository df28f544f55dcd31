import type { Caller, Kind, Moment, Operation } from './operations.js';
import { living, type Scope, type State, type Token } from './state.js';

interface Need {
  /** Any of these admits a token, and `full` always does. Null: no token is admitted, only a session. */
  readonly scopes: readonly Scope[] | null;
  readonly subscription?: boolean;
  /** A token that is bound to a workspace is refused. */
  readonly unbound?: boolean;
}

const READ: Need = { scopes: ['documents:read'] };
const WRITE: Need = { scopes: ['documents:write'], subscription: true };
const SYNC: Need = { scopes: ['documents:read'], subscription: true };
const SEE_ASSETS: Need = { scopes: ['assets:read'] };
const EVERYTHING: Need = { scopes: ['full'] };
const SESSION: Need = { scopes: null };

const NEEDS: Readonly<Record<Exclude<Kind, 'night' | 'subscribe'>, Need>> = {
  'create workspace': { scopes: ['full'], subscription: true, unbound: true },
  'list workspaces': READ,
  'delete workspace': EVERYTHING,
  'set up encryption': EVERYTHING,
  'list slots': READ,
  'put slot': EVERYTHING,
  'delete slot': EVERYTHING,
  put: WRITE,
  'batch upload': WRITE,
  'batch download': READ,
  delete: WRITE,
  get: READ,
  'list files': READ,
  push: WRITE,
  pull: SYNC,
  snapshot: SYNC,
  status: SYNC,
  'list versions': READ,
  'get version': READ,
  restore: { scopes: ['documents:write'] },
  'create checkpoint': WRITE,
  'list checkpoints': READ,
  'delete checkpoint': WRITE,
  summary: READ,
  manifest: READ,
  'note state': READ,
  'create asset': { scopes: ['assets:write'] },
  'get asset': SEE_ASSETS,
  'rename asset': EVERYTHING,
  'delete asset': EVERYTHING,
  'delete assets': EVERYTHING,
  'list assets': SEE_ASSETS,
  usage: SEE_ASSETS,
  mint: SESSION,
  revoke: SESSION,
  'list tokens': SESSION,
};

const NOTE_USE_EVERY = 60_000;

/** The status of the guards' refusal; undefined when they admit. Records the use of a token in any case. */
export function refusalOf(state: State, operation: Operation, moment: Moment): number | undefined {
  if (operation.kind === 'night' || operation.kind === 'subscribe') return undefined;
  const { by, kind } = operation;
  const token = tokenOf(state, by, moment);
  if (by === 'nobody' || by === 'forger' || (by.startsWith('token') && !token)) return 401;
  if (token) noteUse(token, moment);

  const { scopes, subscription, unbound } = NEEDS[kind];
  if (token && (!scopes || (unbound && token.workspace !== null) || !isGranted(token, scopes))) return 403;
  if (subscription && by !== 'stranger' && !state.isSubscribed) return 402;
  if (kind === 'mint' || !('workspace' in operation)) return undefined;

  const isTheirs = living(state).some(({ name }) => name === operation.workspace) && by !== 'stranger';
  const isInReach = !token || token.workspace === null || token.workspace === operation.workspace;
  return isTheirs && isInReach ? undefined : 404;
}

/** The token of the caller, if it is valid. */
export function tokenOf({ tokens }: State, by: Caller, { now }: Moment): Token | undefined {
  const token = tokens.find(({ name }) => name === by);
  const isGood = token && token.revokedAt === null && (token.expiresAt === null || token.expiresAt > now);
  return isGood ? token : undefined;
}

const isGranted = ({ scopes }: Token, wanted: readonly Scope[]): boolean =>
  scopes.includes('full') || wanted.some((scope) => scopes.includes(scope));

/** Records the use of a token, at most once a minute. */
function noteUse(token: Token, { now }: Moment): void {
  if (token.lastUsedAt === null || token.lastUsedAt <= now - NOTE_USE_EVERY) token.lastUsedAt = now;
}
