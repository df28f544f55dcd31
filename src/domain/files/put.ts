import type { Caller } from '../../access/index.js';
import type { Precondition } from './file-headers.js';

/** The data of one upload for the database; `bytes` is null when they are in the blob store. */
export interface Put {
  readonly workspaceId: string;
  /** The workspace must be accessible to this caller; undefined when access has already been checked. */
  readonly caller: Caller | undefined;
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly size: number;
  readonly deviceId: string;
  readonly precondition: Precondition;
  readonly now: Date;
  readonly fileId: string;
  readonly versionId: string;
  readonly blobId: string;
  readonly bytes: Buffer | null;
}

export interface PutOutcome {
  readonly outcome:
    'created' | 'updated' | 'unchanged' | 'precondition_failed' | 'workspace_gone' | 'blob_gone';
  readonly fileId: string;
  readonly version: number;
  /** Cursor of the logged change; null when nothing was written. */
  readonly cursor: number | null;
}

/** With `quota_exceeded`, nothing was written: `usedBytes` and this upload would exceed the quota. */
export type Answered = PutOutcome | { readonly outcome: 'quota_exceeded'; readonly usedBytes: number };
