export { runningServerUrl } from './database-server.js';
export { Database, type Part, type Tx, type WorkspaceTx } from './database.js';
export { hasEmbeddedPostgres } from './embedded/binaries.js';
export { remainingWalBytes } from './embedded/settings.js';
export { DatabaseModule } from './database.module.js';
export { createDataSource, type ServiceDataSource } from './data-source.js';
export {
  AmbiguousCommit,
  isDiskFull,
  isForeignKeyViolation,
  isOfGoneUser,
  isOfGoneWorkspace,
  isTransient,
  isUnanswered,
  sqlState,
} from './database-errors.js';
export { AFTER_ALL_IDS, BEFORE_ALL_IDS, pagesById, removeInBatches } from './in-batches.js';
export { inKeyOrder, type Purged } from './in-key-order.js';
export { instantText } from './instant.js';
export { newId } from './new-id.js';
export { DURABLE, WITHOUT_LIMITS } from './session.js';
export { endQuietly } from './silence.js';
export { PlannerStatistics } from './planner-statistics.js';
export { runOnParts } from './run-on-parts.js';
export { sessionWithoutTimeouts } from './session-without-timeouts.js';
export { SCHEMA_OID, SchemaCheck, type SchemaState } from './schema-check.js';
export { type SchemaAge, SchemaHistory } from './schema-history.js';
export {
  BOUND_TABLES,
  distributeDatabase,
  DISTRIBUTED_TABLES,
  SHARED_COMMITS,
} from './distribution/index.js';
export { appliedMigrations, migrate, underStartLock } from './migrate.js';
export { isServiceRunning } from './running-service.js';
export type { StoredFunctions } from './stored-functions.js';
export { type Parameter, knownStatements, ofWorkspace, type Statement, statement } from './statement.js';
export { StatementLimiter } from './statement-limiter.js';
