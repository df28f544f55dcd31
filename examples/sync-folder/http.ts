import { setTimeout as sleep } from 'node:timers/promises';

const ATTEMPTS = 6;
const TIMEOUT_MS = 120_000;
const LONGEST_WAIT_MS = 60_000;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** path with query, such as /api/v1/workspaces */
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
  /** False when repeating the call would be wrong. It is then retried only if the server says that it did nothing. */
  readonly repeatable?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** The server refused a request. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    call: Call,
    reason: string,
  ) {
    // An encrypted path is unreadable and may be 4,096 characters long.
    super(`${call.method} ${call.path.slice(0, 100)} answered ${status}: ${reason}`);
  }
}

/**
 * Sends a request and reads the whole response, whatever its status. Retries with increasing delays when the network
 * fails or the server answers 429 or 503; its Retry-After is honored.
 */
export async function send(baseUrl: string, call: Call): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await exchange(baseUrl, call);
      const wait = answer.status === 429 || answer.status === 503 ? waitFor(answer, attempt) : undefined;
      if (wait === undefined || wait > LONGEST_WAIT_MS || attempt === ATTEMPTS) return answer;
      await sleep(wait);
    } catch (cause) {
      if (call.repeatable === false || attempt === ATTEMPTS) {
        throw new Error(`${baseUrl} cannot be reached`, { cause });
      }
      await sleep(backoff(attempt));
    }
  }
}

/** The JSON of a response. Its shape is trusted. */
export function bodyOf(answer: Answer): unknown {
  return JSON.parse(answer.body.toString());
}

/** The reason in an error body: the service uses `error`, the identity handler uses `message`. */
export function reasonOf(answer: Answer): string {
  try {
    const body = bodyOf(answer) as { error?: string; message?: string };
    return body.error ?? body.message ?? 'no reason given';
  } catch {
    return 'no reason given';
  }
}

/** Reads the body within the attempt, so that a connection cut half-way is retried too. */
async function exchange(baseUrl: string, call: Call): Promise<Answer> {
  const headers = { ...call.headers };
  if (call.json !== undefined) headers['content-type'] = 'application/json';
  if (call.bytes) headers['content-type'] = 'application/octet-stream';
  const response = await fetch(baseUrl + call.path, {
    method: call.method,
    headers,
    body:
      (call.bytes as Uint8Array<ArrayBuffer> | undefined) ??
      (call.json === undefined ? null : JSON.stringify(call.json)),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: Buffer.from(await response.arrayBuffer()),
  };
}

/** In milliseconds. Retry-After is in seconds, or a date. */
function waitFor(answer: Answer, attempt: number): number {
  const header = answer.headers.get('retry-after') ?? answer.headers.get('x-retry-after');
  if (!header) return backoff(attempt);
  const seconds = Number(header);
  const wait = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1_000;
  return Number.isNaN(wait) ? backoff(attempt) : Math.max(wait, 0) + Math.random() * 100;
}

/** Doubles with each attempt. Randomized, so that clients that failed together do not retry together. */
function backoff(attempt: number): number {
  return 250 * 2 ** (attempt - 1) * (0.5 + Math.random());
}
