/** A JSON Schema (2020-12). A schema with a `title` becomes a component of the document, and is referenced by it. */
export type Schema = Readonly<Record<string, unknown>>;

export const STRING: Schema = { type: 'string' };
export const BOOLEAN: Schema = { type: 'boolean' };
/** Bytes as they are. */
export const BINARY: Schema = { type: 'string', format: 'binary' };
export const UUID: Schema = { type: 'string', format: 'uuid' };
/** A non-negative integer: a cursor, a count, a number of bytes. */
export const COUNT: Schema = { type: 'integer', minimum: 0 };
/** A version of a file, which starts at 1. */
export const ORDINAL: Schema = { type: 'integer', minimum: 1 };
/** A time in UTC, in the only format that answers use. */
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

/** An object with exactly the keys of `T`: a missing or an extra key is a compile error. */
export function objectOf<T>(
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
  objectOf<Record<string, unknown>>({ error: STRING, ...fields });
