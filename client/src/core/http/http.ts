import { type Bandwidth, Throttle } from './bandwidth.js';
import {
  canStreamUploads,
  collect,
  isSmall,
  type RequestBody,
  sentBody,
  streamed,
  streamOf,
} from './bodies.js';
import { NetworkError } from './errors.js';
import type { HttpRequest } from './request.js';
import { pauseBefore, RETRIES, type RetryOptions } from './retries.js';
import { Silence } from './silence.js';

export interface HttpOptions {
  /** Defaults to the platform's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Longest time without a byte in either direction, by default a minute. The total time is not limited. */
  readonly silenceMs?: number;
  /** Lowest rate of an upload whose progress cannot be seen: in browsers, and in buffers. 16 kB by default. */
  readonly slowestBytesPerSecond?: number;
  /** Most bytes of bodies per second, over all requests. */
  readonly bandwidth?: Bandwidth;
  readonly retries?: Partial<RetryOptions>;
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** From 0 to 1. */
  readonly random?: () => number;
  /** Whether the platform can stream request bodies; Node.js can. */
  readonly streamsUploads?: boolean;
}

const SILENCE_MS = 60_000;
const SLOWEST_BYTES_PER_SECOND = 16_000;
/** Largest answer that is held in memory. */
const MOST_BYTES = 512 * 1024 * 1024;
const WITHOUT_BODY = new Set([204, 205, 304]);

/** Sends requests. Ends silent ones, and retries repeatable ones. */
export class Http {
  private readonly fetch: NonNullable<HttpOptions['fetch']>;
  private readonly retries: RetryOptions;
  private readonly sleep: NonNullable<HttpOptions['sleep']>;
  private readonly random: () => number;
  private readonly up: Throttle | undefined;
  private readonly down: Throttle | undefined;

  constructor(private readonly options: HttpOptions = {}) {
    this.fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.retries = { ...RETRIES, ...options.retries };
    this.sleep = options.sleep ?? pause;
    this.random = options.random ?? Math.random;
    const { up, down } = options.bandwidth ?? {};
    this.up = up === undefined ? undefined : new Throttle(up, this.sleep);
    this.down = down === undefined ? undefined : new Throttle(down, this.sleep);
  }

  /**
   * Returns the answer, whatever its status. Its body has been read, unless the request streams.
   * @throws NetworkError when there is none after all attempts; the reason of the signal when it is aborted
   */
  async send(request: HttpRequest): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.attempt(request).catch((error: unknown) => {
        if (error instanceof NetworkError) return error;
        throw error;
      });
      const answer = outcome instanceof NetworkError ? undefined : outcome;
      const ms = pauseBefore(request, answer, attempt, this.retries, this.random);
      if (ms !== undefined) await this.sleep(ms, request.signal);
      else if (outcome instanceof NetworkError) throw outcome;
      else return outcome;
    }
  }

  private async attempt(request: HttpRequest): Promise<Response> {
    const silence = new Silence(this.options.silenceMs ?? SILENCE_MS, request.signal);
    try {
      return await this.exchange(request, silence);
    } catch (cause) {
      request.signal?.throwIfAborted();
      if (cause instanceof NetworkError) throw cause;
      const host = new URL(request.url).host;
      throw new NetworkError(`${host} gave no whole answer: ${reasonOf(cause)}`, { cause });
    } finally {
      silence.stop();
    }
  }

  private async exchange(request: HttpRequest, silence: Silence): Promise<Response> {
    const streams = this.options.streamsUploads ?? canStreamUploads;
    const sent = await this.slowed(request.body, streams, request.signal);
    silence.expect();
    const slowest = (this.options.slowestBytesPerSecond ?? SLOWEST_BYTES_PER_SECOND) / 1_000;
    const body = await sentBody(sent, streams, (unseen) => silence.expect(unseen / slowest));
    silence.expect(body.unseen / slowest);
    const answer = await this.fetch(request.url, {
      method: request.method,
      headers: { ...request.headers, ...body.headers },
      ...body.init,
      signal: silence.signal,
      redirect: 'error',
      credentials: 'omit', // ignores a session of the browser at the service
      cache: 'no-store',
    });
    if (!answer.body || WITHOUT_BODY.has(answer.status)) return answer;
    const watched = silence.watch(answer.body); // inside the limit: waiting for the limit is not silence
    const chunks = failing(this.down?.limit(watched, request.signal) ?? watched, request);
    const { status, statusText, headers } = answer;
    const read = request.streams && answer.ok ? streamOf(chunks) : await collect(chunks, MOST_BYTES);
    return new Response(read, { status, statusText, headers });
  }

  /** Limits the rate of the body. A body that is sent in one piece waits first. */
  private async slowed(
    body: RequestBody | undefined,
    streams: boolean,
    signal: AbortSignal | undefined,
  ): Promise<RequestBody | undefined> {
    const { up } = this;
    if (!up || body === undefined) return body;
    if (!streams || isSmall(body)) {
      await up.take(body.length, signal);
      return body;
    }
    const { open, length } = streamed(body);
    return { open: () => up.limit(open(), signal), length };
  }
}

/** Turns an error while reading the body into a NetworkError. */
async function* failing(
  chunks: AsyncIterable<Uint8Array>,
  { url, signal }: HttpRequest,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new NetworkError(`the answer of ${new URL(url).host} broke off: ${reasonOf(cause)}`, { cause });
  }
}

/** `fetch` hides the reason in `cause`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const give = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', give);
      resolve();
    }, ms);
    if (signal?.aborted) give();
    else signal?.addEventListener('abort', give, { once: true });
  });
}
