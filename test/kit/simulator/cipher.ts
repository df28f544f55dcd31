import { DoesNotOpen } from '../../../client/src/folder/errors.js';
import type { Cipher } from '../../../client/src/folder/ports.js';

const HEADER = 61;

/** Stands in for the encryption: equally long, different each time, bound to its path, readable for tests. */
export class SimulatedCipher implements Cipher {
  constructor(private readonly nonce: () => number) {}

  async encryptPath(path: string): Promise<string> {
    return Promise.resolve(sealedPath(path));
  }

  async decryptPath(encryptedPath: string): Promise<string> {
    return Promise.resolve(openedPath(encryptedPath));
  }

  async encryptContent(encryptedPath: string, content: Uint8Array): Promise<Uint8Array> {
    return Promise.resolve(sealed(encryptedPath, content, this.nonce()));
  }

  async decryptContent(encryptedPath: string, envelope: Uint8Array): Promise<Uint8Array> {
    if (headerOf(envelope).trimEnd().split(' ')[1] !== bound(encryptedPath))
      throw new DoesNotOpen('the content cannot be decrypted');
    return Promise.resolve(envelope.slice(HEADER));
  }

  encryptStream(encryptedPath: string, content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    return inPieces(async () => sealed(encryptedPath, await joined(content), this.nonce()));
  }

  /** Yields the plaintext first, and reports only at the end that it does not belong to the path. */
  async *decryptStream(
    encryptedPath: string,
    envelope: AsyncIterable<Uint8Array>,
  ): AsyncIterable<Uint8Array> {
    const whole = await joined(envelope);
    yield* inPieces(() => Promise.resolve(whole.slice(HEADER)));
    await this.decryptContent(encryptedPath, whole);
  }
}

async function* inPieces(make: () => Promise<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const bytes = await make();
  const size = Math.max(5, Math.ceil(bytes.length / 8));
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function joined(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all);
}

/** A short hash of the path. */
function bound(encryptedPath: string): string {
  let hash = 0;
  for (const character of encryptedPath) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  return String(hash);
}

const headerOf = (envelope: Uint8Array): string => new TextDecoder().decode(envelope.slice(0, HEADER));

export const sealedPath = (path: string): string => `e${Buffer.from(path).toString('base64url')}`;

export function openedPath(encryptedPath: string): string {
  if (!encryptedPath.startsWith('e')) throw new DoesNotOpen('the path cannot be decrypted');
  return Buffer.from(encryptedPath.slice(1), 'base64url').toString();
}

export function sealed(encryptedPath: string, content: Uint8Array, nonce: number): Uint8Array {
  const header = `${nonce} ${bound(encryptedPath)}`.padEnd(HEADER);
  const envelope = new Uint8Array(HEADER + content.length);
  envelope.set(new TextEncoder().encode(header));
  envelope.set(content, HEADER);
  return envelope;
}

export const textOf = (envelope: Uint8Array): string => new TextDecoder().decode(envelope.slice(HEADER));
