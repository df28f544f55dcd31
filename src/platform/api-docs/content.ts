import type { Content } from './api-document.js';
import type { Components } from './operation-parts.js';
import { BINARY, type Schema, STRING } from './schema.js';

export const JSON_TYPE = 'application/json';

/** The content of a body or an answer. The example is that of the JSON content. */
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
