// Writes client/src/core/api/schema.ts, the types of docs/openapi.json for the client: `npm run openapi`.
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';

const file = new URL('../client/src/core/api/schema.ts', import.meta.url);
const BYTES = ts.factory.createTypeReferenceNode('Uint8Array');
const HEADER = '// Made from docs/openapi.json: `npm run openapi`.\n\n';

/** The text of the file. */
export async function schemaText() {
  const document = JSON.parse(await readFile(new URL('../docs/openapi.json', import.meta.url), 'utf8'));
  const types = await openapiTS(document, {
    transform: ({ format }) => (format === 'binary' ? BYTES : undefined),
  });
  const options = await resolveConfig(file);
  return format(HEADER + astToString(types), { ...options, parser: 'typescript' });
}

if (process.argv[1] === new URL(import.meta.url).pathname) await writeFile(file, await schemaText());
