import {
  decryptContent,
  decryptPath,
  encryptContent,
  encryptPath,
  isUnopened,
  type VaultKeys,
} from '../core/index.js';
import { opened, sealed } from './envelope-stream.js';
import { DoesNotOpen } from './errors.js';
import type { Cipher } from './ports.js';

/** The documented encryption, with the keys of an open vault. */
export class VaultCipher implements Cipher {
  constructor(private readonly keys: VaultKeys) {}

  // oxlint-disable-next-line typescript/require-await
  async encryptPath(path: string): Promise<string> {
    return encryptPath(this.keys, path);
  }

  decryptPath(encryptedPath: string): Promise<string> {
    return opening(() => decryptPath(this.keys, encryptedPath));
  }

  encryptContent(encryptedPath: string, content: Uint8Array): Promise<Uint8Array> {
    return encryptContent(this.keys, encryptedPath, content);
  }

  decryptContent(encryptedPath: string, envelope: Uint8Array): Promise<Uint8Array> {
    return opening(() => decryptContent(this.keys, encryptedPath, envelope));
  }

  encryptStream(encryptedPath: string, content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    return sealed(this.keys, encryptedPath, content);
  }

  async *decryptStream(
    encryptedPath: string,
    envelope: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array, void> {
    try {
      yield* opened(this.keys, encryptedPath, envelope);
    } catch (error) {
      throw asDoesNotOpen(error);
    }
  }
}

async function opening<T>(open: () => T | Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw asDoesNotOpen(error);
  }
}

const asDoesNotOpen = (cause: unknown): unknown =>
  isUnopened(cause) ? new DoesNotOpen(cause.message, { cause }) : cause;
