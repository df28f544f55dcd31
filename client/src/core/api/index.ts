export { SecondFactorRequired } from './errors.js';
export { Handoff, handoffCode, type HandoffTarget } from './handoff.js';
export type { components, operations, paths } from './schema.js';
export { dataOf, Session, type SessionOptions, type SessionRequest } from './session.js';
