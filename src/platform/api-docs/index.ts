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
export {
  buildDocument,
  type ControllerClass,
  type DocumentParts,
  type Handler,
  routesOf,
} from './document.js';
export * from './documented.js';
