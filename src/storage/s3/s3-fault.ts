import { StoreUnavailable } from '../blob-store.js';

const RETRY_SECONDS = 5;
const OPERATOR_SECONDS = 60;

/** Answered with 4xx, yet a later request may fare better. */
const CURABLE_REFUSALS = new Set(['RequestTimeout', 'OperationAborted', 'SlowDown']);
const CURABLE_STATUS = new Set([408, 429]);

/** What is known of a request that has failed. */
export interface Failed {
  /** Of the answer, when one came. */
  readonly status: number | undefined;
  /** Whether the server may have seen any of it. */
  readonly wasSent: boolean;
}

/**
 * A request to the S3 store that has failed. Its message names the S3 error code or that of the network, and nothing
 * of the request: no credential, no signature.
 */
export class S3Fault extends StoreUnavailable {
  /** As S3 names it (`NoSuchKey`, `AccessDenied` …) or the network (`ECONNREFUSED` …). */
  readonly code: string;
  readonly isAbsent: boolean;
  /** Whether the same request may succeed a moment later. */
  readonly isCurable: boolean;
  /** Whether the server has certainly not done what it was asked for. A 5xx may come from before or after the deed. */
  readonly isUndone: boolean;

  constructor(error: unknown, { status, wasSent }: Failed) {
    const code = codeOf(error, status);
    const isRefusal = status !== undefined && status >= 400 && status < 500;
    const isCurable = !isRefusal || CURABLE_STATUS.has(status) || CURABLE_REFUSALS.has(code);
    // The client's error has more fields: what was signed, and who asked.
    super(`S3: ${code}`, isCurable ? RETRY_SECONDS : OPERATOR_SECONDS, new Error((error as Error).message));
    this.code = code;
    this.isAbsent = code === 'NoSuchKey' || code === 'NotFound';
    this.isCurable = isCurable;
    this.isUndone = isRefusal || !wasSent;
  }
}

/** Ends a request that takes too long. */
export class S3Timeout extends Error {
  readonly code = 'ETIMEDOUT';
}

function codeOf(error: unknown, status: number | undefined): string {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && code !== '') return code;
  return status === undefined || status < 300 ? 'BadAnswer' : `HTTP ${status}`;
}
