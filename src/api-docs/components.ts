import { isDeepStrictEqual } from 'node:util';
import type { Schema } from './schema.js';

/** Schemas that have a name, each once. */
export class Components {
  readonly schemas: Record<string, Schema> = {};

  /** The same with references in place of the schemas that have a title. @throws Error when two share one */
  refer(schema: Schema): Schema {
    const { title } = schema;
    const inner = Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.within(keyword, value)]),
    );
    if (typeof title !== 'string') return inner;
    const known = this.schemas[title];
    if (known && !isDeepStrictEqual(known, inner)) throw new Error(`two schemas are called ${title}`);
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
