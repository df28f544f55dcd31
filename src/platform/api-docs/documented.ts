/** A JSON Schema (2020-12). A schema with a `title` becomes a component of the document, which refers to it. */
export type Schema = Readonly<Record<string, unknown>>;

export const STRING: Schema = { type: 'string' };
export const BOOLEAN: Schema = { type: 'boolean' };
/** Raw bytes. */
export const BINARY: Schema = { type: 'string', format: 'binary' };
export const UUID: Schema = { type: 'string', format: 'uuid' };
/** A non-negative integer: a cursor, a count, a number of bytes. */
export const COUNT: Schema = { type: 'integer', minimum: 0 };
/** A version of a file, which starts at 1. */
export const ORDINAL: Schema = { type: 'integer', minimum: 1 };
/** A time in UTC, in the only format that responses use. */
export const INSTANT: Schema = {
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
};
export const SHA256_HEX: Schema = { type: 'string', pattern: '^[0-9a-f]{64}$' };
export const URL_TEXT: Schema = { type: 'string', format: 'uri' };

export const matching = (pattern: RegExp): Schema => ({ type: 'string', pattern: pattern.source });

export const oneOf = (...values: readonly (string | number | boolean)[]): Schema => ({ enum: [...values] });

export const arrayOf = (items: Schema): Schema => ({ type: 'array', items });

export const nullable = (schema: Schema): Schema =>
  typeof schema.type === 'string' && schema.enum === undefined && schema.title === undefined
    ? { ...schema, type: [schema.type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] };

/** An object with exactly these keys. Where `T` is given, a key that it lacks or does not have is a compile error. */
export function objectOf<T = Record<string, unknown>>(
  properties: { readonly [Key in keyof Required<T>]: Schema },
  optional: readonly (keyof T & string)[] = [],
): Schema {
  const required = Object.keys(properties).filter((key) => !optional.includes(key as keyof T & string));
  return { type: 'object', properties, required, additionalProperties: false };
}

export const named = (title: string, schema: Schema): Schema => ({ title, ...schema });

export const OK: Schema = named('Ok', objectOf<{ ok: true }>({ ok: { const: true } }));

/** The common error format; some errors have more fields. */
export const ERROR: Schema = named('ApiError', objectOf<{ error: string }>({ error: STRING }));

/** An error with fields that a program can act on. */
export const errorWith = (fields: Readonly<Record<string, Schema>>): Schema =>
  objectOf({ error: STRING, ...fields });

/** The documentation of a route that cannot be derived from its decorators and classes: see `Documented`. */
export interface OperationDocs {
  /**
   * The operationId, after which generated clients name functions. Default: the group of the tag and the name of the handler, as
   * in `sync.pull`.
   */
  readonly id?: string;
  /** The group in the document, if it differs from the controller's. */
  readonly tag?: string;
  /** Whether the route requires or merely accepts the session of the identity handler. */
  readonly session?: 'required' | 'optional';
  /** A few words, as in a table of contents. */
  readonly summary: string;
  readonly description?: string;
  /** Path parameters that the policy does not describe; strings by default. */
  readonly path?: Parameters;
  readonly query?: Parameters;
  readonly headers?: Parameters;
  /** A body that the handler reads itself; a body read by `@JsonBody` is described by its class. */
  readonly body?: BodyDocs;
  /** Schemas of body properties that the class does not describe. */
  readonly properties?: Readonly<Record<string, Schema>>;
  /** By status. A string describes an error in the common format; errors that follow from the route's policy can be omitted. */
  readonly answers: Readonly<Record<number, AnswerDocs | string>>;
}

export type Parameters = Readonly<Record<string, ParameterDocs>>;

export interface ParameterDocs {
  readonly description: string;
  readonly schema?: Schema;
  /** For query and header parameters; path parameters are always required. */
  readonly isRequired?: true;
}

export interface BodyDocs {
  readonly description?: string;
  readonly type: string;
  readonly schema?: Schema;
}

export interface AnswerDocs {
  readonly description: string;
  /** Media type → schema; an empty schema means text for a text type, bytes for all others. Omitted without a body. */
  readonly content?: Readonly<Record<string, Schema>>;
  /** Name → description. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An external handler mounted at one route for all paths below it: `METHOD path` → its operation. */
export interface MountDocs {
  readonly mounted: Readonly<Record<string, OperationDocs>>;
}

export interface ControllerDocs {
  /** The group in the document. Controllers with the tag `Pages` are in the document of the pages. */
  readonly tag: string;
  /** Whether these are pages for browsers, whose errors are pages too. */
  readonly isPage?: true;
  readonly operations: Readonly<Record<string, OperationDocs | MountDocs>>;
}

/** Pages are for browsers, not for generated clients, and have a separate document. */
export const isOfPages = ({ isPage, tag }: ControllerDocs): boolean => isPage === true || tag === 'Pages';

const DOCS = 'openapi-docs';

type DocsOf<Name extends string> = ControllerDocs & {
  readonly operations: Readonly<Record<Name, OperationDocs | MountDocs>>;
};

/** Documents each route of a controller, by the name of its handler. A name without a handler is a compile error. */
export function Documented<Name extends string>(docs: DocsOf<Name>) {
  return (controller: abstract new (...args: never[]) => Record<Name, unknown>): void => {
    Reflect.defineMetadata(DOCS, docs, controller);
  };
}

export const docsOf = (controller: object): ControllerDocs | undefined =>
  Reflect.getMetadata(DOCS, controller) as ControllerDocs | undefined;

export const json = (
  description: string,
  schema: Schema,
  headers?: Readonly<Record<string, string>>,
): AnswerDocs => ({ description, content: { 'application/json': schema }, ...(headers && { headers }) });

export const page = (description: string): AnswerDocs => ({ description, content: { 'text/html': {} } });

export interface Example {
  readonly body?: unknown;
  readonly answers?: Readonly<Record<number, unknown>>;
}

export type Examples = Readonly<Record<string, Example>>;
