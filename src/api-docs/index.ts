export type { ApiDocument, HeaderObject, Operation, Parameter, Reference, Response } from './api-document.js';
export { buildDocument, type ControllerClass, type Handler } from './document.js';
export type { OperationPolicy } from './operation-parts.js';
export {
  type AnswerDocs,
  Documented,
  json,
  type OperationDocs,
  page,
  type Parameters,
} from './documented.js';
export * from './schema.js';
