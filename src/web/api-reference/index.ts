export { ApiDocuments, documentText } from './api-documents.js';
export { ApiDocsModule } from './api-docs.module.js';
