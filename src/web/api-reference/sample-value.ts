import type { ApiDocument, Schema } from '../../platform/api-docs/index.js';

/** A sample value for a schema: optional properties are omitted, and a string is its name. */
export function sampleOf(schema: Schema, schemas: ApiDocument['components']['schemas'], name = '…'): unknown {
  const { $ref, type, items, properties, required } = schema;
  if (typeof $ref === 'string')
    return sampleOf(schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {}, schemas, name);
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if ('const' in schema) return schema.const;
  if (type === 'array') return [sampleOf(items as Schema, schemas, name)];
  if (type === 'integer' || type === 'number') return 0;
  if (type === 'boolean') return false;
  if (type !== 'object') return `<${name}>`;
  const wanted = Object.entries((properties ?? {}) as Record<string, Schema>).filter(([key]) =>
    (required as string[] | undefined)?.includes(key),
  );
  return Object.fromEntries(wanted.map(([key, value]) => [key, sampleOf(value, schemas, key)]));
}
