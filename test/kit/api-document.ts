import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { readUrl } from '../../src/config/index.js';
import type { ApiDocument, Operation } from '../../src/api-docs/index.js';

export const OPENAPI_JSON = join(import.meta.dirname, '..', '..', 'docs', 'openapi.json');

/** What is committed; a test holds the service to it. */
export const documentText = (): string => readFileSync(OPENAPI_JSON, 'utf8');

export interface NamedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

export function operationsOf({ paths }: ApiDocument): NamedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
}

const HEX = '[0-9a-f]';
const FORMATS = {
  uuid: new RegExp(`^${HEX}{8}-(?:${HEX}{4}-){3}${HEX}{12}$`),
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/,
  email: /^[^@\s]+@[^@\s]+$/,
  uri: (text: string) => readUrl(text) !== undefined,
};

const COMPONENTS = '#/components/schemas/';

/** Compiles the schemas of a document; strict, so that a word that means nothing is found out. */
export function schemaCompiler(document: ApiDocument): (schema: object) => ValidateFunction {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true, formats: FORMATS });
  ajv.addSchema({
    $id: 'components',
    $defs: relocated(document.components.schemas) as Record<string, object>,
  });
  return (schema) => ajv.compile(relocated(schema));
}

function relocated<T extends object>(schema: T): T {
  return JSON.parse(JSON.stringify(schema).replaceAll(`"${COMPONENTS}`, '"components#/$defs/')) as T;
}
