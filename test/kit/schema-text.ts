import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TestDatabase } from './database.js';
import { ROOT } from './deployment.js';

/** The schema of a database as SQL, in the form of docs/reference/schema.sql. */
export const { schemaText } = (await import(
  pathToFileURL(join(ROOT, 'scripts', 'schema-text.mjs')).href
)) as {
  schemaText: (query: TestDatabase['query']) => Promise<string>;
};
