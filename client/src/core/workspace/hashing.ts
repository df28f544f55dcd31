import { ContentMismatch } from './errors.js';

/** Passes chunks on. Ends with ContentMismatch when they do not match the hash. */
export async function* hashing(
  chunks: AsyncIterable<Uint8Array>,
  contentHash: string,
): AsyncGenerator<Uint8Array, void> {
  const { createSHA256 } = await import('hash-wasm'); // WebCrypto cannot hash a stream
  const hash = (await createSHA256()).init();
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== contentHash)
    throw new ContentMismatch('the content is not the one that its hash says');
}
