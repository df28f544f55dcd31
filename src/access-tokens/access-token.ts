import type { Scope } from '../access/index.js';

/** A personal access token as its owner sees it. The token itself is not known: the row has its SHA-256. */
export interface AccessToken {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null when it opens all workspaces of its owner. */
  readonly workspaceId: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}
