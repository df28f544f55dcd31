export { runningServerUrl } from './server.js';
export { Database, type Tx } from './database.js';
export { DatabaseModule } from './database.module.js';
export { createDataSource } from './data-source.js';
export { AmbiguousCommit, isConnectionLost, isForeignKeyViolation, isTransient, sqlState } from './errors.js';
export { migrate, underStartLock } from './migrate.js';
export { type Parameter, type Statement, statement } from './statement.js';
