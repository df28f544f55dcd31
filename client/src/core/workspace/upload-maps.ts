import { encode } from 'cborg';
import { ApiError, InvalidAnswer } from '../http/index.js';
import { isCount } from './checks.js';
import type { Failed } from './outcomes.js';
import type { Upload, Uploaded } from './transfers.js';

/** The map of a content that is held as bytes. */
export function encoded({ encryptedPath, contentHash, content, base }: Upload): Uint8Array {
  const condition = base === null ? { ifNoneMatch: '*' } : base === undefined ? {} : { ifMatch: base };
  return encode({ encryptedPath, contentHash, content, ...condition });
}

/** Accepts a result only at the position of its item and with its path and content hash. */
export function outcomeOf(upload: Upload, result: unknown): Uploaded | Failed {
  const { encryptedPath, status, version, contentHash, error } = (result ?? {}) as Record<string, unknown>;
  if (encryptedPath === upload.encryptedPath) {
    if (status === 412) return { kind: 'outdated' };
    const isStored = status === 200 || status === 201;
    if (isStored && contentHash === upload.contentHash && isCount(version, 1))
      return { kind: 'stored', version };
    if (!isStored && isCount(status, 400)) return { kind: 'failed', error: refusal(upload, status, error) };
  }
  const wrong = new InvalidAnswer('the service does not say what became of this file in its batch');
  return { kind: 'failed', error: wrong };
}

function refusal({ encryptedPath }: Upload, status: number, error: unknown): ApiError {
  return ApiError.from({ method: 'PUT', url: `/files/${encryptedPath}` }, { status, fields: { error } });
}
