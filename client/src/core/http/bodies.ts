/** A body that is sent. */
export type RequestBody = Uint8Array | string | StreamedBody;

/** A body that is made while it is sent. */
export interface StreamedBody {
  /** Begins it, once for each attempt. */
  readonly open: () => AsyncIterable<Uint8Array>;
  /** In bytes. */
  readonly length: number;
}

/** Smaller bodies leave in one go. */
const CHUNK_BYTES = 64 * 1024;

/** What may wait in buffers between here and the link, and leaves unseen. */
const BUFFERED_BYTES = 1024 * 1024;

/** Whether it leaves in one go. */
export const isSmall = (body: RequestBody): boolean => body.length <= CHUNK_BYTES;

/** How a body is handed to `fetch`. */
export interface SentBody {
  readonly init: RequestInit & { duplex?: 'half' };
  readonly headers: Record<string, string>;
  /** How many bytes leave unseen, if `whenSent` is not called for its chunks. */
  readonly unseen: number;
}

/**
 * Whether bodies of requests can be streams. Browsers cannot, or only over HTTP/2; they show no progress either, so an
 * upload gets a limit that grows with its size there.
 */
export const canStreamUploads =
  typeof (globalThis as { process?: { versions?: { node?: unknown } } }).process?.versions?.node === 'string';

/** @param whenSent called whenever a chunk is taken, with how many bytes may leave unseen from then on */
export async function sentBody(
  body: RequestBody | undefined,
  streams: boolean,
  whenSent: (unseen: number) => void,
): Promise<SentBody> {
  if (body === undefined) return { init: {}, headers: {}, unseen: 0 };
  if (streams && !isSmall(body)) {
    const { open, length } = streamed(body);
    let taken = 0;
    const chunks = streamOf(open(), (bytes) => whenSent(Math.min(BUFFERED_BYTES, (taken += bytes))));
    const headers = { 'content-length': String(length) };
    return { init: { body: chunks, duplex: 'half' }, headers, unseen: 0 };
  }
  const bytes = typeof body === 'object' && 'open' in body ? await collect(body.open()) : body;
  return { init: { body: bytes as Uint8Array<ArrayBuffer> | string }, headers: {}, unseen: bytes.length };
}

export function streamed(body: RequestBody): StreamedBody {
  if (typeof body === 'object' && 'open' in body) return body;
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  return { open: () => chunksOf(bytes), length: bytes.length };
}

// eslint-disable-next-line @typescript-eslint/require-await
async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** A stream of chunks, with a call for each that is taken. */
export function streamOf(
  chunks: AsyncIterable<Uint8Array>,
  whenTaken: (bytes: number) => void = () => undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const next = await iterator.next();
      whenTaken(next.done ? 0 : next.value.length);
      if (next.done) controller.close();
      else controller.enqueue(next.value as Uint8Array<ArrayBuffer>);
    },
    cancel() {
      iterator.return?.().catch(() => undefined); // which waits for a chunk that is under way
    },
  });
}

/** What a stream has, as it comes. Not every browser iterates over streams. */
export async function* chunksIn(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void> {
  const reader = stream?.getReader();
  if (!reader) return;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    reader.cancel().catch(() => undefined); // does nothing when it was read to its end
  }
}

/** All bytes. @throws RangeError when there are more than `most` */
export async function collect(
  chunks: AsyncIterable<Uint8Array>,
  most = Infinity,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of chunks) {
    length += part.length;
    if (length > most) throw new RangeError(`there are more than ${most} bytes`);
    parts.push(part);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
