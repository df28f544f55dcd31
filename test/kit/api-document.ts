import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { readUrl } from '../../src/platform/config/index.js';
import type { ApiDocument, Operation } from '../../src/platform/api-docs/index.js';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');
const OPENAPI_JSON = join(DOCS, 'openapi.json');
const PAGES_JSON = join(DOCS, 'internals', 'pages.openapi.json');

/** The committed API document, which a test compares with the served one. */
export const documentText = (): string => readFileSync(OPENAPI_JSON, 'utf8');

/** The committed document of the pages, which is not served. */
export const pagesText = (): string => readFileSync(PAGES_JSON, 'utf8');

/** Every route of the service, pages included, in one document. Empty before the first `npm run openapi`. */
export function allRoutes(): ApiDocument {
  const [api, pages] = [OPENAPI_JSON, PAGES_JSON].map((file) =>
    existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ApiDocument) : NO_ROUTES,
  ) as [ApiDocument, ApiDocument];
  const schemas = { ...pages.components.schemas, ...api.components.schemas };
  return { ...api, paths: { ...pages.paths, ...api.paths }, components: { ...api.components, schemas } };
}

const NO_ROUTES = { paths: {}, components: { schemas: {} } } as unknown as ApiDocument;

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
  binary: true as const,
};

const COMPONENTS = '#/components/schemas/';

/** Compiles the schemas of a document. Strict: unknown keywords are errors. */
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
