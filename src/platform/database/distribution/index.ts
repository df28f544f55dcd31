export { distributeDatabase } from './distribute-database.js';
export { isDistributed } from './is-distributed.js';
export { NodeRouter } from './node-router.js';
export { BOUND_TABLES, DISTRIBUTED_TABLES, REFERENCE_TABLES } from './placement.js';
