import { StoreUnavailable } from '../blob-store.js';

const RETRY_SECONDS = 5;
const OPERATOR_SECONDS = 60;

/** 4xx errors for which a later request may succeed. */
const CURABLE_REFUSALS = new Set(['RequestTimeout', 'OperationAborted', 'SlowDown']);
const CURABLE_STATUS = new Set([408, 429]);

export interface Failed {
  readonly status: number | undefined;
  /** Whether the server may have received any part of it. */
  readonly wasSent: boolean;
}

/**
 * A failed request to the S3 store. Its message contains the S3 or network error code, and nothing of the request: no
 * credentials, no signature.
 */
export class S3Fault extends StoreUnavailable {
  /** Code from S3 (`NoSuchKey`, `AccessDenied` …) or the network (`ECONNREFUSED` …). */
  readonly code: string;
  readonly isAbsent: boolean;
  /** Read by the marks of backup places, which do not load this class. */
  readonly isForbidden: boolean;
  override readonly isCurable: boolean;
  /** Whether the server has certainly not executed the request. A 5xx may occur before or after execution. */
  readonly isUndone: boolean;

  constructor(error: unknown, { status, wasSent }: Failed) {
    const code = codeOf(error, status);
    const isRefusal = status !== undefined && status >= 400 && status < 500;
    const isCurable = !isRefusal || CURABLE_STATUS.has(status) || CURABLE_REFUSALS.has(code);
    // The client's error has more fields, which show what was signed and by whom.
    super(`S3: ${code}`, isCurable ? RETRY_SECONDS : OPERATOR_SECONDS, new Error((error as Error).message));
    this.code = code;
    this.isAbsent = code === 'NoSuchKey' || code === 'NotFound';
    this.isForbidden = status === 403;
    this.isCurable = isCurable;
    this.isUndone = isRefusal || !wasSent;
  }
}

export class S3Timeout extends Error {
  readonly code = 'ETIMEDOUT';
}

function codeOf(error: unknown, status: number | undefined): string {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && code !== '') return code;
  return status === undefined || status < 300 ? 'BadAnswer' : `HTTP ${status}`;
}
