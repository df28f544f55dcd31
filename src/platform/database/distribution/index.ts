export { distributeDatabase } from './distribute.js';
export {
  type Begin,
  BOUND_TABLES,
  DISTRIBUTED_TABLES,
  isDistributed,
  type Nodes,
  NODES,
  OneServer,
  type OpenTransaction,
  type Place,
  type Run,
  SHARED_COMMITS,
} from './nodes.js';
export { ShardRouter } from './shard-router.js';
