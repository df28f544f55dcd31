import type { Schema } from './schema.js';

/** The documentation of a route that neither its decorators nor its classes contain: see `Documented`. */
export interface OperationDocs {
  /** The operationId. Default: the group of the tag and the name of the handler, as in `sync.pull`. Generated clients name functions after it. */
  readonly id?: string;
  /** The group in the document, if it is not that of the controller. */
  readonly tag?: string;
  /** Whether the route reads the session of the identity handler, and whether it works without one too. */
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
  /**
   * By status. A string is the description of an error in the common format; errors that follow from the route's policy can be
   * omitted.
   */
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
  /** Media type → schema; an empty schema means text for a text type, bytes for all others. Omitted for an answer without a body. */
  readonly content?: Readonly<Record<string, Schema>>;
  /** Name → description. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A foreign handler mounted at one route for all paths below it: `METHOD path` → its operation. */
export interface MountDocs {
  readonly mounted: Readonly<Record<string, OperationDocs>>;
}

export interface ControllerDocs {
  /** The group in the document. Those of the tag `Pages` are in the document of the pages. */
  readonly tag: string;
  /** Whether these are pages for browsers, whose errors are pages too. */
  readonly isPage?: true;
  readonly operations: Readonly<Record<string, OperationDocs | MountDocs>>;
}

/** Pages are for browsers, not for generated clients: a document of their own describes them. */
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

/** A JSON answer. */
export const json = (
  description: string,
  schema: Schema,
  headers?: Readonly<Record<string, string>>,
): AnswerDocs => ({ description, content: { 'application/json': schema }, ...(headers && { headers }) });

export const page = (description: string): AnswerDocs => ({ description, content: { 'text/html': {} } });
