export { type ConnectionTarget, urlOf } from './connection-target.js';
export { lockDataDirectory } from './directory-lock.js';
export { runningEmbeddedPostgres } from './running.js';
export { startEmbeddedPostgres } from './supervisor.js';
