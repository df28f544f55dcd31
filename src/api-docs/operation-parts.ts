import { isDeepStrictEqual } from 'node:util';
import type { Operation } from './api-document.js';
import type { OperationDocs, Parameters } from './documented.js';
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

/** Who may use a route, and what follows from that. */
export interface OperationPolicy {
  readonly security: Operation['security'];
  readonly path?: Parameters;
  readonly query?: Parameters;
  readonly headers?: Parameters;
  /** Status → why. */
  readonly answers: Readonly<Record<number, string>>;
}

export interface OperationParts {
  readonly path: string;
  readonly name: string;
  readonly tag: string;
  readonly isPage: boolean;
  readonly operation: OperationDocs;
  readonly policy: OperationPolicy;
  readonly body: { readonly schema: Schema; readonly limit: number } | undefined;
  readonly components: Components;
}
