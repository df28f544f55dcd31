import type { Schema } from './schema.js';

/** What the document says of a route and neither its decorators nor its classes do: see `Documented`. */
export interface OperationDocs {
  /** A few words, as in a table of contents. */
  readonly summary: string;
  readonly description?: string;
  /** Of the parameters of the path that its policy does not describe; a string unless said. */
  readonly path?: Parameters;
  readonly query?: Parameters;
  readonly headers?: Parameters;
  /** What the handler reads for itself; a body that is read by `@JsonBody` is described by its class. */
  readonly body?: BodyDocs;
  /** What the class of the body does not say of its properties. */
  readonly properties?: Readonly<Record<string, Schema>>;
  /** By status. A text is an error of the common form; those that follow from the route's policy need not be named. */
  readonly answers: Readonly<Record<number, AnswerDocs | string>>;
}

export type Parameters = Readonly<Record<string, ParameterDocs>>;

export interface ParameterDocs {
  readonly description: string;
  readonly schema?: Schema;
  /** Of a query or header; those of the path always are. */
  readonly isRequired?: true;
}

export interface BodyDocs {
  readonly description?: string;
  readonly type: string;
  readonly schema?: Schema;
}

export interface AnswerDocs {
  readonly description: string;
  /** Media type → schema; an empty schema is bytes or text. Nothing for an answer without a body. */
  readonly content?: Readonly<Record<string, Schema>>;
  /** Name → what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A handler of another make behind one route for all that is below it: `METHOD path` → what it answers. */
export interface MountDocs {
  readonly mounted: Readonly<Record<string, OperationDocs>>;
}

export interface ControllerDocs {
  /** The group in the document. */
  readonly tag: string;
  /** For people: errors are pages. */
  readonly isPage?: true;
  readonly operations: Readonly<Record<string, OperationDocs | MountDocs>>;
}

const DOCS = 'openapi-docs';

type DocsOf<Name extends string> = ControllerDocs & {
  readonly operations: Readonly<Record<Name, OperationDocs | MountDocs>>;
};

/** Describes each route of a controller, by the name of its handler. The compiler knows a name that is none. */
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
