import type { BatchItem, WantedItem } from './batches.js';
import type { Scope, State } from './state.js';

/**
 * Who sends a request: `owner` and `stranger` with a JWT, `token n` with the owner's personal access token of that name,
 * `nobody` without a bearer, `forger` with a token that was never issued.
 */
export type Caller = 'owner' | 'stranger' | 'nobody' | 'forger' | `token ${number}`;

interface Request {
  readonly by: Caller;
  /** The instance that gets the request. */
  readonly at: 0 | 1;
}

interface InWorkspace extends Request {
  readonly workspace: string;
}

interface OnPath extends InWorkspace {
  readonly path: string;
}

interface OnSlot extends InWorkspace {
  /** The id, which the client chooses. */
  readonly slot: string;
  /** Whether the client does not know the master key. */
  readonly isGuess: boolean;
  /** The required time of the slot. */
  readonly ifMatch: string | null;
}

interface OnCheckpoint extends InWorkspace {
  readonly checkpoint: string;
}

export interface PushedRow {
  readonly path: string;
  /** The content that the device believes to delete; null: not stated. */
  readonly content: string | null;
}

/** A request, with all its parameters. Ids are names, and what they name may be gone. */
export type Operation =
  | (Request & { readonly kind: 'create workspace'; readonly name: string })
  | (Request & { readonly kind: 'list workspaces' })
  | (InWorkspace & { readonly kind: 'delete workspace' })
  | (InWorkspace & { readonly kind: 'set up encryption' })
  | (InWorkspace & { readonly kind: 'list slots' })
  | (OnSlot & { readonly kind: 'put slot'; readonly mark: string; readonly content: string })
  | (OnSlot & { readonly kind: 'delete slot' })
  | (OnPath & {
      readonly kind: 'put';
      readonly content: string;
      readonly device: string;
      /** Contents one of which the live head must have; `*`: any. */
      readonly ifMatch: readonly string[] | null;
      readonly ifAbsent: boolean;
      /** Whether the hash in the header is not that of the body. */
      readonly isMislabelled: boolean;
    })
  | (InWorkspace & {
      readonly kind: 'batch upload';
      readonly device: string;
      readonly items: readonly BatchItem[];
    })
  | (InWorkspace & { readonly kind: 'batch download'; readonly items: readonly WantedItem[] })
  | (OnPath & { readonly kind: 'delete'; readonly device: string })
  | (OnPath & { readonly kind: 'get' })
  | (InWorkspace & { readonly kind: 'list files' })
  | (InWorkspace & {
      readonly kind: 'push';
      readonly device: string;
      readonly base: number;
      readonly rows: readonly PushedRow[];
      /** Whether one of the rows is not a deletion. */
      readonly hasUpsert: boolean;
    })
  | (InWorkspace & {
      readonly kind: 'pull';
      readonly device: string;
      readonly cursor: number;
      readonly limit: number | null;
    })
  | (InWorkspace & {
      readonly kind: 'snapshot';
      /** The device that walks, which the request does not name. */
      readonly device: string;
      readonly limit: string | null;
      /** The last path of the previous page. */
      readonly after: string | null;
    })
  | (InWorkspace & { readonly kind: 'status' })
  | (OnPath & { readonly kind: 'list versions' })
  | (OnPath & { readonly kind: 'get version'; readonly version: number })
  | (OnPath & {
      readonly kind: 'restore';
      readonly version: number;
      /** The path that the version belongs to. */
      readonly of: string;
      readonly device: string | null;
    })
  | (InWorkspace & {
      readonly kind: 'create checkpoint';
      readonly name: string;
      readonly label: string;
      readonly mark: string;
    })
  | (InWorkspace & { readonly kind: 'list checkpoints' })
  | (OnCheckpoint & { readonly kind: 'delete checkpoint' })
  | (OnCheckpoint & { readonly kind: 'summary'; readonly from: number | null })
  | (OnCheckpoint & { readonly kind: 'manifest' })
  | (OnCheckpoint & { readonly kind: 'note state'; readonly path: string })
  | (InWorkspace & {
      readonly kind: 'create asset';
      readonly token: string;
      readonly envelope: string;
      readonly key: string | null;
    })
  | (InWorkspace & { readonly kind: 'get asset'; readonly token: string })
  | (InWorkspace & { readonly kind: 'rename asset'; readonly token: string; readonly to: string })
  | (InWorkspace & { readonly kind: 'delete asset'; readonly token: string })
  | (InWorkspace & { readonly kind: 'delete assets'; readonly tokens: readonly string[] })
  | (InWorkspace & { readonly kind: 'list assets' })
  | (InWorkspace & { readonly kind: 'usage' })
  | (Request & {
      readonly kind: 'mint';
      readonly name: string;
      readonly scopes: readonly Scope[] | null;
      readonly workspace: string | null;
      /** Values of 0 or less are refused; null never expires. */
      readonly lifetimeMs: number | null;
    })
  | (Request & { readonly kind: 'revoke'; readonly token: string })
  | (Request & { readonly kind: 'list tokens' })
  | (Pick<Request, 'at'> & { readonly kind: 'night' })
  | { readonly kind: 'subscribe'; readonly isSubscribed: boolean };

export type Kind = Operation['kind'];
export type Of<K extends Kind> = Extract<Operation, { kind: K }>;

/** An answer in the names of the model; an error has its fields without the text. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export const refused = (status: number, fields: object = {}): Answer => ({ status, body: fields });
export const answered = (body: unknown, status = 200): Answer => ({ status, body });
export const OK = answered({ ok: true });

/** The time of an operation, and its place in the order in which ids are drawn. */
export interface Moment {
  readonly now: number;
  readonly born: number;
}

/** Applies one kind of operation to a state, which it may change. @returns the answer */
export type Rule<K extends Kind> = (state: State, operation: Of<K>, moment: Moment) => Answer;
