import { encode } from 'cborg';
import { ApiError, InvalidAnswer } from '../http/index.js';
import { isCount } from './checks.js';
import type { Failed } from './outcomes.js';
import type { Upload, Uploaded } from './transfers.js';

/** The map of a content that has come as bytes. */
export function encoded({ encryptedPath, contentHash, content, base }: Upload): Uint8Array {
  const condition = base === null ? { ifNoneMatch: '*' } : base === undefined ? {} : { ifMatch: base };
  return encode({ encryptedPath, contentHash, content, ...condition });
}

/** A result counts only for the item whose place it has and whose path and content it names. */
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
