import { isDeepStrictEqual } from 'node:util';
import type { Operation } from './api-document.js';
import type { OperationDocs, Parameters } from './documented.js';
import type { Example } from './example.js';
import type { Schema } from './schema.js';

/** The named schemas, each stored once. */
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
  /** Header → the scheme of the secret that is sent in it. */
  readonly secretHeaders: ReadonlyMap<string, string>;
  readonly example: Example | undefined;
}
