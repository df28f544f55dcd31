import type { Schema } from './schema.js';

/** The parts of an OpenAPI document that the service reads again. */
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
