/**
 * All that the service knows of one account, as plain data. Times are epoch milliseconds. `born` is the place
 * in the order in which ids were drawn: ids grow with it, and lists by id are in its order.
 */
export interface State {
  isSubscribed: boolean;
  /** The time up to which retention has thinned; null before the first night. */
  thinnedUntil: number | null;
  readonly workspaces: Workspace[];
  readonly tokens: Token[];
}

export interface Workspace {
  readonly name: string;
  readonly born: number;
  readonly createdAt: number;
  updatedAt: number;
  isDeleted: boolean;
  /** Whether encryption is set up. */
  isSetUp: boolean;
  readonly slots: KeySlot[];
  readonly files: File[];
  /** The change at index i has the cursor i + 1. */
  readonly log: Change[];
  readonly checkpoints: Checkpoint[];
  /** Oldest first. */
  readonly assets: Asset[];
  readonly usedKeys: UsedKey[];
}

export interface File {
  readonly path: string;
  readonly born: number;
  readonly createdAt: number;
  updatedAt: number;
  isDeleted: boolean;
  /** The number of the newest version, which is never thinned. */
  version: number;
  /** The kept versions, oldest first. */
  versions: Version[];
}

export interface Version {
  readonly version: number;
  readonly content: string;
  readonly device: string | null;
  readonly cursor: number;
  readonly createdAt: number;
}

export interface Change {
  readonly path: string;
  readonly action: 'upsert' | 'delete';
  readonly content: string;
  readonly version: number;
  readonly device: string | null;
  readonly changedAt: number;
}

export interface Checkpoint {
  readonly name: string;
  readonly born: number;
  readonly cursor: number;
  readonly label: string;
  readonly kind: string;
  readonly createdAt: number;
}

export interface KeySlot {
  readonly id: string;
  kind: string;
  content: string;
  readonly createdAt: number;
  updatedAt: number;
}

export interface Asset {
  token: string;
  readonly envelope: string;
  readonly uploadedAt: number;
}

export interface UsedKey {
  readonly key: string;
  readonly token: string;
  readonly usedAt: number;
}

export interface Token {
  readonly name: string;
  readonly born: number;
  readonly scopes: readonly Scope[];
  /** The workspace that it is bound to. */
  readonly workspace: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
}

export type Scope = 'full' | 'documents:read' | 'documents:write' | 'assets:read' | 'assets:write';

export const NOTHING: State = { isSubscribed: true, thinnedUntil: null, workspaces: [], tokens: [] };

/** A deep copy; the data must be JSON. */
export const copyOf = <T>(data: T): T => JSON.parse(JSON.stringify(data)) as T;

export const living = ({ workspaces }: State): Workspace[] =>
  workspaces.filter(({ isDeleted }) => !isDeleted);

/** A workspace to which the caller was admitted. */
export function workspaceIn({ workspaces }: State, name: string): Workspace {
  const found = workspaces.find((workspace) => workspace.name === name);
  if (!found) throw new Error(`no workspace ${name}`);
  return found;
}

export const fileAt = ({ files }: Workspace, path: string): File | undefined =>
  files.find((file) => file.path === path);

export function liveFileAt(workspace: Workspace, path: string): File | undefined {
  const file = fileAt(workspace, path);
  return file?.isDeleted ? undefined : file;
}

export const liveFiles = ({ files }: Workspace): File[] =>
  files.filter(({ isDeleted }) => !isDeleted).toSorted((a, b) => a.born - b.born);

/** The newest version of a file, which always exists. */
export function newest({ versions, version }: File): Version {
  const found = versions.find((one) => one.version === version);
  if (!found) throw new Error('a file without its newest version');
  return found;
}

/** A path's last change at or below a cursor. */
export const lastChange = ({ log }: Workspace, path: string, cursor = log.length): Change | undefined =>
  log.slice(0, cursor).findLast((change) => change.path === path);
