import { tokenOf } from './access.js';
import { SALT } from './key-slots.js';
import { answered, OK, refused, type Rule } from './operations.js';
import { living, type State, type Token, type Workspace, workspaceIn } from './state.js';
import { timeOf } from './words.js';

export const createWorkspace: Rule<'create workspace'> = (state, { name }, { now, born }) => {
  const empty = { isSetUp: false, slots: [], files: [], log: [], checkpoints: [], assets: [], usedKeys: [] };
  state.workspaces.push({ name, born, createdAt: now, updatedAt: now, isDeleted: false, ...empty });
  const [createdAt, updatedAt] = [timeOf(now), timeOf(now)];
  return answered({ id: name, userId: 'owner', name, createdAt, updatedAt }, 201);
};

/** Oldest first. A token that is bound to a workspace gets that one alone. */
export const listWorkspaces: Rule<'list workspaces'> = (state, { by }, moment) => {
  const bound = tokenOf(state, by, moment)?.workspace ?? null;
  const mine = by === 'stranger' ? [] : living(state);
  const seen = mine.filter(({ name }) => bound === null || name === bound);
  return answered({ workspaces: seen.toSorted((a, b) => a.born - b.born).map(toldWorkspace) });
};

/** The workspace disappears at once; its content is removed a moment later: see `purge`. */
export const deleteWorkspace: Rule<'delete workspace'> = (state, { workspace }) => {
  workspaceIn(state, workspace).isDeleted = true;
  return OK;
};

/** Removes deleted workspaces with their assets, which frees the quota, and the tokens bound to them. */
export function purge(state: State): State {
  const workspaces = living(state);
  const names = workspaces.map(({ name }) => name);
  const tokens = state.tokens.filter(({ workspace }) => workspace === null || names.includes(workspace));
  return { ...state, workspaces, tokens };
}

export const mint: Rule<'mint'> = (state, { by, name, scopes, workspace, lifetimeMs }, { now, born }) => {
  const isTheirs = by === 'owner' && living(state).some((one) => one.name === workspace);
  if (lifetimeMs !== null && lifetimeMs <= 0) return refused(400);
  if (workspace !== null && !isTheirs) return refused(404);
  const token: Token = {
    ...{ name, born, scopes: [...new Set(scopes ?? ['full' as const])], workspace },
    ...{ createdAt: now, expiresAt: lifetimeMs === null ? null : now + lifetimeMs },
    ...{ revokedAt: null, lastUsedAt: null },
  };
  if (by === 'owner') state.tokens.push(token);
  return answered({ ...toldToken(token), token: `raw ${name}` }, 201);
};

/** A second revocation changes nothing. */
export const revoke: Rule<'revoke'> = (state, operation, { now }) => {
  const token = state.tokens.find(({ name }) => name === operation.token);
  if (!token || operation.by !== 'owner') return refused(404);
  token.revokedAt ??= now;
  return OK;
};

/** Newest first, invalid ones included. */
export const listTokens: Rule<'list tokens'> = ({ tokens }, { by }) => {
  const mine = by === 'owner' ? tokens : [];
  return answered({ tokens: mine.toSorted((a, b) => b.born - a.born).map(toldToken) });
};

export const subscribe: Rule<'subscribe'> = (state, { isSubscribed }) => {
  state.isSubscribed = isSubscribed;
  return answered({});
};

const toldWorkspace = ({ name, createdAt, updatedAt, isSetUp }: Workspace): object => ({
  id: name,
  user_id: 'owner',
  name,
  encryption_salt: isSetUp ? SALT : null,
  created_at: timeOf(createdAt),
  updated_at: timeOf(updatedAt),
});

const toldToken = (token: Token): object => ({
  id: token.name,
  name: token.name,
  created_at: timeOf(token.createdAt),
  last_used_at: timeOrNull(token.lastUsedAt),
  expires_at: timeOrNull(token.expiresAt),
  revoked_at: timeOrNull(token.revokedAt),
  scopes: token.scopes,
  workspace_id: token.workspace,
});

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : timeOf(ms));
