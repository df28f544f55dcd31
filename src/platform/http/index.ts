export { createAdapter } from './adapter.js';
export { bodyChunks, ClientGone, JsonBody, readBody } from './body.js';
export * from './errors.js';
export { ErrorFilter } from './error-filter.js';
export { validation } from './validation.js';
