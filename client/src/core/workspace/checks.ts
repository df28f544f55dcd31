import { InvalidAnswer } from '../http/index.js';

/** Answers of the service are not trusted: callers may store them. */
const HASH = /^[0-9a-f]{64}$/;
const ENCRYPTED_PATH = /^[A-Za-z0-9_-]{1,4096}={0,2}$/;

export const isHash = (value: unknown): value is string => typeof value === 'string' && HASH.test(value);
export const isEncryptedPath = (value: unknown): value is string =>
  typeof value === 'string' && ENCRYPTED_PATH.test(value);
export const isCount = (value: unknown, least = 0): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least;

/** A file at the service. */
export interface RemoteFile {
  readonly encryptedPath: string;
  /** SHA-256 of the envelope, in hex */
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly version: number;
}

/** @throws InvalidAnswer for an invalid file */
export function checkFile<F extends RemoteFile>(file: F): F {
  const { encryptedPath, contentHash, encryptedSize, version } = file;
  if (
    !isEncryptedPath(encryptedPath) ||
    !isHash(contentHash) ||
    !isCount(encryptedSize) ||
    !isCount(version, 1)
  )
    throw new InvalidAnswer('the service describes a file in another form than agreed');
  return file;
}

/** @throws InvalidAnswer for an invalid cursor, or one below `least` */
export function checkCursor(cursor: unknown, least = 0): number {
  if (isCount(cursor, least)) return cursor;
  throw new InvalidAnswer('the cursor of the service is none, or goes back');
}
