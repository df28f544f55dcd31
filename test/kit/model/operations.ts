import type { BatchItem, WantedItem } from './batches.js';
import type { Scope, State } from './state.js';

/**
 * Who sends a request: `owner` and `stranger` with a JWT, `token n` with the owner's personal access token of that name,
 * `nobody` without a bearer, `forger` with one that was never given out.
 */
export type Caller = 'owner' | 'stranger' | 'nobody' | 'forger' | `token ${number}`;

interface Request {
  readonly by: Caller;
  /** Which of the two instances is asked. */
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
  /** It does not know the master key. */
  readonly isGuess: boolean;
  /** The time of the slot that it wants to find. */
  readonly ifMatch: string | null;
}

interface OnCheckpoint extends InWorkspace {
  readonly checkpoint: string;
}

export interface PushedRow {
  readonly path: string;
  /** The content that the device believes it deletes; null: it does not say. */
  readonly content: string | null;
}

/** What is asked of the service, with everything that the request says. Ids are names here; what they name may be gone. */
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
      /** Contents of which the live head must be one; `*`: any. */
      readonly ifMatch: readonly string[] | null;
      readonly ifAbsent: boolean;
      /** The hash in the header is not that of the body. */
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
      /** One of the rows is no deletion. */
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
      /** Who walks; the request does not say. */
      readonly device: string;
      readonly limit: string | null;
      /** The path of the file that the page before ended with. */
      readonly after: string | null;
    })
  | (InWorkspace & { readonly kind: 'status' })
  | (OnPath & { readonly kind: 'list versions' })
  | (OnPath & { readonly kind: 'get version'; readonly version: number })
  | (OnPath & {
      readonly kind: 'restore';
      readonly version: number;
      /** The path whose version it is. */
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
      /** How long it is good for; not above 0 is refused, null is for ever. */
      readonly lifetimeMs: number | null;
    })
  | (Request & { readonly kind: 'revoke'; readonly token: string })
  | (Request & { readonly kind: 'list tokens' })
  | (Pick<Request, 'at'> & { readonly kind: 'night' })
  | { readonly kind: 'subscribe'; readonly isSubscribed: boolean };

export type Kind = Operation['kind'];
export type Of<K extends Kind> = Extract<Operation, { kind: K }>;

/** What comes back, in the model's words: an error has the fields that it carries beside its text. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export const refused = (status: number, fields: object = {}): Answer => ({ status, body: fields });
export const answered = (body: unknown, status = 200): Answer => ({ status, body });
export const OK = answered({ ok: true });

/** When an operation happens, and what it is the how-manieth to draw an id. */
export interface Moment {
  readonly now: number;
  readonly born: number;
}

/** What one kind of operation does to a state, which it may change, and answers. */
export type Rule<K extends Kind> = (state: State, operation: Of<K>, moment: Moment) => Answer;
