import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { isStrictBody, jsonBodyFactory } from '../http/index.js';
import {
  type AnswerDocs,
  ERROR,
  named,
  nullable,
  type Parameters,
  type Schema,
  STRING,
  UUID,
} from './documented.js';
import {
  contentOf,
  type HeaderObject,
  JSON_TYPE,
  type Operation,
  type OperationParts,
  type Parameter,
  type Reference,
  type Response,
  securityOf,
} from './operation-parts.js';

/** The responses of the policy, the body parser and the route itself, in numerical order. */
export function responsesOf(parts: OperationParts): Record<string, Response> {
  const { operation, policy, body } = parts;
  const ofBody = body && { 400: 'the body is invalid', 413: 'the body is too large' };
  const sources: Readonly<Record<number, AnswerDocs | string>>[] = [
    policy.answers,
    ofBody ?? {},
    operation.answers,
  ];
  const statuses = [...new Set(sources.flatMap((source) => Object.keys(source).map(Number)))];
  return Object.fromEntries(
    statuses
      .sort((a, b) => a - b)
      .map((status) => {
        const all = sources.flatMap((source) => source[status] ?? []);
        return [String(status), responseOf(status, all, parts)];
      }),
  );
}

function responseOf(
  status: number,
  all: readonly (AnswerDocs | string)[],
  { isPage, policy, components, example }: OperationParts,
): Response {
  const docs = all.find((one) => typeof one === 'object');
  const description = [...new Set(all.map((one) => (typeof one === 'string' ? one : one.description)))].join(
    '; ',
  );
  const isOurs = status !== 401 || policy.security.length > 0;
  const headers = {
    ...(isOurs && HEADERS[status]),
    ...textHeaders(docs?.headers),
    'X-Request-Id': headerNamed('X-Request-Id'),
  };
  const content = docs ? (docs.content ?? {}) : errorContent(status, isPage);
  return {
    description,
    headers,
    ...(Object.keys(content).length > 0 && {
      content: contentOf(content, components, example?.answers?.[status]),
    }),
  };
}

/** While the service is down, a request does not reach the error filter of the page, so the answer is JSON. */
function errorContent(status: number, isPage: boolean): Record<string, Schema> {
  if (!isPage) return { [JSON_TYPE]: ERROR };
  return status === 503 ? { 'text/html': {}, [JSON_TYPE]: ERROR } : { 'text/html': {} };
}

type Headers = NonNullable<Response['headers']>;

/** Headers that not every answer of a status has. */
const SOMETIMES = new Set(['Set-Cookie', 'set-auth-token']);

const textHeaders = (headers: Readonly<Record<string, string>> = {}): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, required: !SOMETIMES.has(name), schema: STRING },
    ]),
  );

const always = (description: string, schema: Schema): HeaderObject => ({
  description,
  required: true,
  schema,
});

/** Headers of many responses, each defined once in the document. */
export const COMMON_HEADERS = {
  'X-Request-Id': always('Identifies the request in the log.', { type: 'string', format: 'uuid' }),
  'Retry-After': always('Seconds to wait before the next try.', { type: 'string', pattern: '^\\d+$' }),
  'WWW-Authenticate': always('`Bearer`', { const: 'Bearer' }),
};

const headerNamed = (name: keyof typeof COMMON_HEADERS): Reference => ({
  $ref: `#/components/headers/${name}`,
});

const RETRY_AFTER = { 'Retry-After': headerNamed('Retry-After') };

const HEADERS: Readonly<Record<number, Headers>> = {
  401: { 'WWW-Authenticate': headerNamed('WWW-Authenticate') },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/** One operation of the document. @throws Error when a path parameter has no description */
export function operationOf(parts: OperationParts): Operation {
  const { operation, tag, id } = parts;
  const parameters = parametersOf(parts);
  const requestBody = requestBodyOf(parts);
  return {
    operationId: id,
    tags: [tag],
    summary: operation.summary,
    ...(operation.description && { description: operation.description }),
    security: securityOf(parts),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: responsesOf(parts),
  };
}

function parametersOf({ path, operation, policy, components, secretHeaders }: OperationParts): Parameter[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const known: Parameters = { ...policy.path, ...operation.path };
  const inPath = names.map((name) => {
    const { description, schema = name === 'id' ? UUID : STRING } = known[name] ?? {};
    if (!description) throw new Error(`${path}: ${name} is not described`);
    return { name, in: 'path' as const, required: true, description, schema: components.refer(schema) };
  });
  const elsewhere = (where: 'query' | 'header', all: Parameters = {}): Parameter[] =>
    Object.entries(all).map(([name, { description, schema = STRING, isRequired }]) => ({
      name,
      in: where,
      required: isRequired === true,
      description,
      schema: components.refer(schema),
    }));
  return [
    ...inPath,
    ...elsewhere('query', { ...policy.query, ...operation.query }),
    ...elsewhere('header', { ...policy.headers, ...operation.headers }).filter(
      ({ name }) => !secretHeaders.has(name),
    ),
  ];
}

function requestBodyOf({ operation, body, components, example }: OperationParts): Operation['requestBody'] {
  if (body) {
    const description = `At most ${body.limit.toLocaleString('en-US')} bytes.`;
    return {
      required: true,
      description,
      content: contentOf({ [JSON_TYPE]: body.schema }, components, example?.body),
    };
  }
  if (!operation.body) return undefined;
  const { description, type, schema = {} } = operation.body;
  const content = contentOf({ [type]: schema }, components, example?.body);
  return { required: true, ...(description && { description }), content };
}

export type BodyClass = new () => object;

interface RouteArgument {
  readonly index: number;
  readonly factory?: unknown;
  readonly data?: unknown;
}

/** The class and the size limit (bytes) of the JSON body that a handler reads. */
export function bodyClassOf(
  controller: { readonly prototype: object; readonly name: string },
  handler: string,
): { bodyClass: BodyClass; limit: number } | undefined {
  const args = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) as
    Record<string, RouteArgument> | undefined;
  const argument = Object.values(args ?? {}).find((one) => one.factory === jsonBodyFactory);
  if (!argument) return undefined;
  const types = Reflect.getMetadata('design:paramtypes', controller.prototype, handler) as BodyClass[];
  const bodyClass = types[argument.index];
  if (!bodyClass) throw new Error(`${controller.name}.${handler} has a body without a class`);
  return { bodyClass, limit: argument.data as number };
}

export type SchemaOfClass = (bodyClass: BodyClass, properties?: Readonly<Record<string, Schema>>) => Schema;

/** Imports the schema generator for validated classes on first use, to save memory. */
export async function loadSchemaOfClass(): Promise<SchemaOfClass> {
  const { targetConstructorToSchema } = (await import('class-validator-jsonschema')).default;
  const { defaultMetadataStorage } = (await import('class-transformer/cjs/storage.js')).default;
  const schemaOfClass: SchemaOfClass = (bodyClass, overrides = {}) => {
    const { properties, required } = targetConstructorToSchema(bodyClass, {
      classTransformerMetadataStorage: defaultMetadataStorage,
      additionalConverters: {
        matches: ({ constraints }: ValidationMetadata) => patternOf((constraints as [RegExp])[0]),
        isInstant: { type: 'string', description: 'ISO 8601: a date, or a date with a time' },
        whitelistValidation: {},
        customValidation: {}, // a rule without a converter does not affect the schema
        // Omits the type, which would turn bounded integers into numbers.
        min: ({ constraints }: ValidationMetadata) => ({ minimum: (constraints as [number])[0] }),
        max: ({ constraints }: ValidationMetadata) => ({ maximum: (constraints as [number])[0] }),
        nestedValidation: ({ target, propertyName }: ValidationMetadata) => {
          const { typeFunction } = defaultMetadataStorage.findTypeMetadata(target as BodyClass, propertyName);
          const nested = typeFunction() as BodyClass;
          return schemaOfClass(nested);
        },
      },
    }) as { properties: Record<string, Schema>; required?: string[] };
    const all = Object.entries({ ...properties, ...overrides }).map(([name, schema]) => [
      name,
      required?.includes(name) ? schema : nullable(schema), // optional properties may also be null
    ]);
    const schema = {
      type: 'object',
      properties: Object.fromEntries(all) as object,
      ...(required ? { required } : {}),
      ...(isStrictBody(bodyClass) ? { additionalProperties: false } : {}),
    };
    return named(bodyClass.name, schema);
  };
  return schemaOfClass;
}

/** JSON Schema has no flags: a case-insensitive pattern lists both cases. */
function patternOf({ source, flags }: RegExp): { type: 'string'; pattern: string } {
  const bothCases = source.replace(/([a-z])-([a-z])/g, (range) => `${range}${range.toUpperCase()}`);
  return { type: 'string', pattern: flags.includes('i') ? bothCases : source };
}
