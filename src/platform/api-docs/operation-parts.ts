import { isDeepStrictEqual } from 'node:util';
import {
  BINARY,
  type Example,
  type OperationDocs,
  type Parameters,
  type Schema,
  STRING,
} from './documented.js';

/** The parts of an OpenAPI document that the service itself reads. */
export interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<'schemas' | 'securitySchemes', Readonly<Record<string, Schema>>>> & {
    readonly headers: Readonly<Record<string, HeaderObject>>;
  };
  readonly servers: readonly { readonly url: string }[];
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly description?: string;
    readonly content: Content;
  };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
}

export interface Reference {
  readonly $ref: string;
}

export interface HeaderObject {
  readonly description: string;
  /** Whether the header is always present. */
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, HeaderObject | Reference>>;
  readonly content?: Content;
}

export type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>;

export class Components {
  readonly schemas: Record<string, Schema> = {};

  /** Replaces schemas that have a title with references. @throws Error when different schemas have the same title */
  refer(schema: Schema): Schema {
    const { title } = schema;
    const inner = Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.within(keyword, value)]),
    );
    if (typeof title !== 'string') return inner;
    const known = this.schemas[title];
    if (known && !isDeepStrictEqual(known, inner))
      throw new Error(`two different schemas have the title ${title}`);
    this.schemas[title] = inner;
    return { $ref: `#/components/schemas/${title}` };
  }

  private within(keyword: string, value: unknown): unknown {
    if (keyword === 'properties') {
      const properties = Object.entries(value as Record<string, Schema>);
      return Object.fromEntries(properties.map(([name, schema]) => [name, this.refer(schema)]));
    }
    if (keyword === 'items') return this.refer(value as Schema);
    if (keyword === 'anyOf') return (value as Schema[]).map((schema) => this.refer(schema));
    return value;
  }
}

/** A route's access policy, and the parameters and answers that follow from it. */
export interface OperationPolicy {
  readonly security: Operation['security'];
  readonly path?: Parameters;
  readonly query?: Parameters;
  readonly headers?: Parameters;
  /** Status → reason. */
  readonly answers: Readonly<Record<number, string>>;
}

export interface OperationParts {
  readonly path: string;
  readonly id: string;
  readonly tag: string;
  readonly isPage: boolean;
  readonly operation: OperationDocs;
  readonly policy: OperationPolicy;
  readonly body: { readonly schema: Schema; readonly limit: number } | undefined;
  readonly components: Components;
  /** Header → the scheme of the secret that it carries. */
  readonly secretHeaders: ReadonlyMap<string, string>;
  readonly example: Example | undefined;
}

export const JSON_TYPE = 'application/json';

/** The content of a body or an answer. The example applies to the JSON content. */
export function contentOf(
  schemas: Readonly<Record<string, Schema>>,
  components: Components,
  example?: unknown,
): Content {
  return Object.fromEntries(
    Object.entries(schemas).map(([type, schema]) => [
      type,
      {
        schema: components.refer(isEmpty(schema) ? plainSchema(type) : schema),
        ...(type === JSON_TYPE && example !== undefined && { example }),
      },
    ]),
  );
}

const isEmpty = (schema: Schema): boolean => Object.keys(schema).length === 0;

function plainSchema(type: string): Schema {
  if (type === JSON_TYPE) return {};
  return type.startsWith('text/') ? STRING : BINARY;
}

/** Names of the schemes for the session of the identity handler: an app sends its token, a browser its cookie. */
const OF_SESSION = ['sessionToken', 'sessionCookie'] as const;

/** The credentials that a request needs; any one of the alternatives is enough. */
export function securityOf({ operation, policy, secretHeaders }: OperationParts): Operation['security'] {
  const { session, headers = {} } = operation;
  const alternatives = session ? OF_SESSION.map((name) => ({ [name]: [] })) : policy.security;
  const secrets = Object.keys(headers).flatMap((name) => secretHeaders.get(name) ?? []);
  const needed = Object.fromEntries(secrets.map((name) => [name, []]));
  const all = alternatives.map((one) => ({ ...one, ...needed }));
  return session === 'optional' ? [...all, {}] : all;
}
