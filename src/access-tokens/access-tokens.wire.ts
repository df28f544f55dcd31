import type { AccessToken } from './access-token.js';

export interface AccessTokenWire {
  id: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  scopes: readonly string[];
  workspace_id: string | null;
}

export function accessTokenWire(token: AccessToken): AccessTokenWire {
  return {
    id: token.id,
    name: token.name,
    created_at: token.createdAt.toISOString(),
    last_used_at: token.lastUsedAt?.toISOString() ?? null,
    expires_at: token.expiresAt?.toISOString() ?? null,
    revoked_at: token.revokedAt?.toISOString() ?? null,
    scopes: token.scopes,
    workspace_id: token.workspaceId,
  };
}
