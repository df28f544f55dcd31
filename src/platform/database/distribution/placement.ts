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

/**
 * Tables that name a workspace but are looked up by other columns. They stay on the coordinator, where a foreign key to a
 * distributed table is impossible; the purge of a workspace removes their rows.
 */
export const BOUND_TABLES = ['access_tokens', 'key_sessions', 'presence'] as const;

/** The foreign keys between tables of a workspace and tables of the coordinator, which are impossible there. */
export const IMPOSSIBLE_REFERENCES = [
  ...BOUND_TABLES.map((table) => ({ table, name: `${table}_workspace_id_fkey` })),
  { table: 'workspaces', name: 'workspaces_user_id_fkey' },
] as const;

/** The local table that the engine knows: a transaction that changes it and a node is committed in two phases. */
export const SHARED_COMMITS = 'shared_commits';
