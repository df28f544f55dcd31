export { distributeDatabase } from './distribute-database.js';
export { FILL_CATALOGUE } from './steps.js';
export { isDistributed } from './is-distributed.js';
export { type ByNode, NodeRouter, type NodeTransaction } from './node-router.js';
export { BOUND_TABLES, DISTRIBUTED_TABLES, SHARED_COMMITS } from './placement.js';
