import type { Operation } from './api-document.js';
import type { Components } from './components.js';
import type { OperationDocs, Parameters } from './documented.js';
import type { Schema } from './schema.js';

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
