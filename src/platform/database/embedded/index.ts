export { type ConnectionTarget, urlOf } from './connection-target.js';
export { lockDataDirectory } from './data-directory.js';
export { runningEmbeddedPostgres, startEmbeddedPostgres } from './supervisor.js';
