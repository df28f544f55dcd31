export type {
  ApiDocument,
  Content,
  HeaderObject,
  Operation,
  OperationPolicy,
  Parameter,
  Reference,
  Response,
} from './operation-parts.js';
export { buildDocument, type ControllerClass, type DocumentParts, type Handler } from './document.js';
export {
  type AnswerDocs,
  Documented,
  type Examples,
  json,
  type OperationDocs,
  page,
  type Parameters,
} from './documented.js';
export * from './documented.js';
