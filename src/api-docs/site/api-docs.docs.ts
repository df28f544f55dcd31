import { page } from '../index.js';

const KEPT = {
  304: { description: 'the client has it', headers: { ETag: 'What it is known by.' } },
} as const;
const IF_NONE_MATCH = { 'If-None-Match': { description: 'The ETag that the client has.' } } as const;

export const API_DOCS_DOCS = {
  tag: 'Service',
  operations: {
    json: {
      summary: 'This document',
      headers: IF_NONE_MATCH,
      answers: {
        200: { description: 'OpenAPI 3.1', content: { 'application/json': { type: 'object' } } },
        ...KEPT,
      },
    },
    page: {
      summary: 'This document, to be read',
      headers: IF_NONE_MATCH,
      answers: { 200: page('a page that asks nobody else for anything'), ...KEPT },
    },
    stylesheet: {
      summary: 'The stylesheet of that page',
      headers: IF_NONE_MATCH,
      answers: { 200: { description: 'CSS', content: { 'text/css': {} } }, ...KEPT },
    },
  },
} as const;
