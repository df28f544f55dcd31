import { contentHash as hashOf } from '../crypto/index.js';
import { InvalidAnswer } from '../http/index.js';
import type { CborMap } from './cbor-maps.js';
import { isCount, isHash } from './checks.js';
import { ContentMismatch } from './errors.js';
import type { Failed } from './outcomes.js';

/** A content to download: the newest one of its path. */
export interface Download {
  readonly encryptedPath: string;
  /** According to the log; used to form batches. */
  readonly encryptedSize: number;
  /** The content hash that the device already has; that content is not sent again. */
  readonly have?: string | undefined;
}

/** The result of one of many downloads. */
export interface DownloadOutcome<D extends Download = Download> {
  readonly download: D;
  readonly outcome:
    | { readonly kind: 'content'; readonly contentHash: string; readonly content: Uint8Array }
    | { readonly kind: 'unchanged' }
    /** No live file has this path. Only the log shows whether one was deleted. */
    | { readonly kind: 'missing' }
    /** Too large to be held in memory beside others: open it alone. */
    | { readonly kind: 'large' }
    | Failed;
}

export type Outcome = DownloadOutcome['outcome'];

/** Accepts a map only at the position and with the path of its item. @returns undefined for a map without content */
export async function outcomeOf(
  { encryptedPath, have }: Download,
  map: CborMap,
): Promise<Outcome | undefined> {
  const [status, contentHash, size] = [map.get('status'), map.get('contentHash'), map.get('encryptedSize')];
  if (map.get('encryptedPath') !== encryptedPath) return invalid('another file than was asked for');
  if (status === 404 && contentHash === null) return { kind: 'missing' };
  if (!isHash(contentHash) || !isCount(size)) return invalid('a file without a content hash');
  if (status === 304 && contentHash === have) return { kind: 'unchanged' };
  if (status !== 200) return invalid('a status that was not agreed');
  const content = map.get('content');
  if (content === undefined) return undefined;
  if (!(content instanceof Uint8Array)) return invalid('a content that is not bytes');
  if ((await hashOf(content)) !== contentHash)
    return { kind: 'failed', error: new ContentMismatch('the content is not the one that its hash says') };
  return { kind: 'content', contentHash, content };
}

const invalid = (what: string): Failed => ({
  kind: 'failed',
  error: new InvalidAnswer(`the service answers with ${what}`),
});
