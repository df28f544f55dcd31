export { distributeDatabase } from './distribute.js';
export { isDistributed } from './is-distributed.js';
export { type Begin, type Nodes, NODES, type OpenTransaction, type Place, type Run } from './nodes.js';
export { OneServer } from './one-server.js';
export { BOUND_TABLES, DISTRIBUTED_TABLES, SHARED_COMMITS } from './placement.js';
export { ShardRouter } from './shard-router.js';
