import { hash } from 'node:crypto';
import { CONTENT_HASH, ENCRYPTED_PATH, ENCRYPTED_PATH_RULE, type Precondition } from '../index.js';
import { BadRequest, refuseUnknownMembers } from '../../../platform/http/index.js';
import { type CborMap, contentIn } from './cbor-maps.js';

/** An item of a batch of uploads: what a PUT has in its path, headers and body. */
export interface UploadItem {
  readonly encryptedPath: string;
  /** SHA-256 of the content, in lower case. */
  readonly contentHash: string;
  readonly content: Buffer;
  readonly precondition: Precondition;
}

/** The path of an item, by which its result is recognized; null when it has no valid one. */
export function pathIn(map: CborMap): string | null {
  const path = map.get('encryptedPath');
  return typeof path === 'string' && ENCRYPTED_PATH.test(path) ? path : null;
}

const MEMBERS = ['encryptedPath', 'contentHash', 'content', 'ifMatch', 'ifNoneMatch'];

/**
 * A misspelt condition would be an upload without one, so other members are refused.
 * @throws BadRequest for an item that is refused alone
 */
export function uploadItemOf(map: CborMap): UploadItem {
  refuseUnknownMembers(map.keys(), MEMBERS);
  const encryptedPath = pathIn(map);
  if (encryptedPath === null) throw new BadRequest(`encryptedPath ${ENCRYPTED_PATH_RULE}`);
  const contentHash = map.get('contentHash');
  if (typeof contentHash !== 'string' || !CONTENT_HASH.test(contentHash))
    throw new BadRequest('contentHash must be the SHA-256 of the content in 64 hex characters');
  if (!(map.get('content') instanceof Uint8Array)) throw new BadRequest('content must be a byte string');
  const precondition = preconditionIn(map);
  const content = contentIn(map);
  if (contentHash.toLowerCase() !== hash('sha256', content))
    throw new BadRequest('contentHash does not match the content');
  return { encryptedPath, contentHash: contentHash.toLowerCase(), content, precondition };
}

function preconditionIn(map: CborMap): Precondition {
  const ifMatch = map.get('ifMatch') ?? null;
  if (ifMatch !== null && !(typeof ifMatch === 'string' && (ifMatch === '*' || CONTENT_HASH.test(ifMatch))))
    throw new BadRequest('ifMatch must be a content hash or *');
  const ifNoneMatch = map.get('ifNoneMatch') ?? null;
  if (ifNoneMatch !== null && ifNoneMatch !== '*') throw new BadRequest('ifNoneMatch must be *');
  return { ifMatch: ifMatch === null ? null : [ifMatch.toLowerCase()], ifAbsent: ifNoneMatch !== null };
}
