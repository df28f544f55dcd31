/** What a personal access token may be granted; `full` is everything, and what an interactive session has. */
export const SCOPES = [
  'full',
  'documents:read',
  'documents:write',
  'agent:invoke',
  'assets:read',
  'assets:write',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Who makes a request, as the bearer token proves it. */
export interface Principal {
  readonly userId: string;
  readonly scopes: readonly Scope[];
  /** The personal access token; null for an interactive session's JWT. */
  readonly tokenId: string | null;
  /** The key that signed the JWT; undefined where there is none. */
  readonly keyId?: string;
  /** The one workspace that the token is bound to; null when it is not bound. */
  readonly workspaceId: string | null;
  /** When the token ends by itself; null: never. */
  readonly expiresAt: Date | null;
}
