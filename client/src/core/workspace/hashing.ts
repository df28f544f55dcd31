import { ContentMismatch } from './errors.js';

/** Passes chunks on, and ends with an error when they are not what their hash says. */
export async function* hashing(
  chunks: AsyncIterable<Uint8Array>,
  contentHash: string,
): AsyncGenerator<Uint8Array, void> {
  const { createSHA256 } = await import('hash-wasm'); // WebCrypto hashes nothing that is not in memory as a whole
  const hash = (await createSHA256()).init();
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== contentHash)
    throw new ContentMismatch('the content is not the one that its hash says');
}
