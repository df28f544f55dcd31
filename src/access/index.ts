export { type Principal, type Scope, SCOPES } from './route-access.js';
export * from './route-access.js';
