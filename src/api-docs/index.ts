export { ApiDocuments } from './api-document.js';
export { ApiDocsModule } from './api-docs.module.js';
