export { type Principal, type Scope, SCOPES } from './principal.js';
export * from './route-access.js';
