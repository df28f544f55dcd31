/** Tables that every node has a copy of: statements of a workspace read them next to its own rows. */
export const REFERENCE_TABLES = ['users', 'subscriptions'] as const;

/** The table that the others are placed with, and the column of its id. */
const ROOT = { table: 'workspaces', column: 'id' } as const;

/** The tables of a workspace in an order in which each comes after those that it refers to. */
export const DISTRIBUTED_TABLES: readonly { readonly table: string; readonly column: string }[] = [
  ROOT,
  ...[
    'blobs',
    'files',
    'versions',
    'changes',
    'checkpoints',
    'key_slots',
    'assets',
    'asset_idempotency_keys',
    'blob_leftovers',
    'push_subscriptions',
    'retention_marks',
    'retention_queue',
  ].map((table) => ({ table, column: 'workspace_id' })),
];

/** Local tables of statements that read a table of the nodes too. */
export const JOINED_TABLES = ['invitations'] as const;

/**
 * Tables that name a workspace but are looked up by other columns. They stay on the coordinator, where a foreign key to a
 * distributed table is impossible; the purge of a workspace removes their rows.
 */
export const BOUND_TABLES = ['access_tokens', 'key_sessions', 'presence'] as const;
