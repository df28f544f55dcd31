export type {
  ApiDocument,
  Content,
  HeaderObject,
  Operation,
  Parameter,
  Reference,
  Response,
} from './api-document.js';
export type { ControllerClass, Handler } from './controller-routes.js';
export { buildDocument, type DocumentParts } from './document.js';
export type { Examples } from './example.js';
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
