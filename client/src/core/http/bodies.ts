/** A body that is sent. */
export type RequestBody = Uint8Array | string | StreamedBody;

/** A body that is produced while it is sent. */
export interface StreamedBody {
  /** Starts the body; called once per attempt. */
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly length: number;
}

/** Larger bodies are sent as streams of chunks of this size. */
const CHUNK_BYTES = 64 * 1024;

/** Bytes that may wait in buffers before the link, where progress cannot be seen. */
const BUFFERED_BYTES = 1024 * 1024;

/** Whether it is sent in one piece. */
export const isSmall = (body: RequestBody): boolean => body.length <= CHUNK_BYTES;

/** A body as passed to `fetch`. */
export interface SentBody {
  readonly init: RequestInit & { duplex?: 'half' };
  readonly headers: Record<string, string>;
  /** Number of bytes without progress reports; 0 when `whenSent` is called for the chunks. */
  readonly unseen: number;
}

/**
 * Whether request bodies can be streams. Browsers stream only over HTTP/2, if at all, and report no progress; there, an
 * upload gets a time limit that grows with its size.
 */
export const canStreamUploads =
  typeof (globalThis as { process?: { versions?: { node?: unknown } } }).process?.versions?.node === 'string';

/** @param whenSent called for each chunk taken, with the number of bytes that may still be in buffers */
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

// oxlint-disable-next-line typescript/require-await
async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** A stream of chunks. Calls `whenTaken` for each chunk that the reader takes. */
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
      iterator.return?.().catch(() => undefined); // waits for a chunk in progress
    },
  });
}

/** The chunks of a stream. Not every browser can iterate over streams. */
export async function* chunksIn(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void> {
  const reader = stream?.getReader();
  if (!reader) return;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    reader.cancel().catch(() => undefined); // does nothing after the end
  }
}

/** Concatenates all chunks. @throws RangeError when there are more than `most` bytes */
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
