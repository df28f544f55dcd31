/**
 * Argon2id (RFC 9106), version 0x13, off the event loop: by Node.js where it supports it (from 24.7), otherwise by hash-wasm in a
 * separate thread, whose memory is returned when the thread ends. Both compute the same bytes.
 */
import crypto from 'node:crypto';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Argon2id, Argon2idInput, Bytes } from '../../../crypto/src/index.js';

const KEY_BYTES = 32;

/** Not in the type declarations of the oldest supported Node.js. */
type NativeArgon2 = (
  algorithm: 'argon2id',
  parameters: {
    readonly message: Uint8Array;
    readonly nonce: Uint8Array;
    readonly parallelism: number;
    readonly tagLength: number;
    readonly memory: number;
    readonly passes: number;
  },
  callback: (error: Error | null, key: Bytes) => void,
) => void;

const { argon2 } = crypto as unknown as { readonly argon2?: NativeArgon2 };

/** Derives with Node.js, in one libuv thread regardless of the number of lanes; undefined where Node.js lacks it. */
export const argon2idOfNode: Argon2id | undefined = argon2 && ((input) => deriveBy(argon2, input));

/** Derives with hash-wasm, in a thread that ends with the derivation. */
export const argon2idOfWasm: Argon2id = ({ password, salt, ...cost }) =>
  new Promise((resolve, reject) => {
    const library = createRequire(import.meta.url).resolve('hash-wasm');
    const workerData = { library, password, salt, keyBytes: KEY_BYTES, ...cost };
    const worker = new Worker(IN_WORKER, { eval: true, execArgv: [], workerData });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the thread of an Argon2id derivation ended early')));
  });

/** Derives 32 bytes, by the faster of the two. */
export const deriveArgon2id: Argon2id = argon2idOfNode ?? argon2idOfWasm;

function deriveBy(native: NativeArgon2, { password, salt, ...cost }: Argon2idInput): Promise<Bytes> {
  const { lanes: parallelism, memoryKiB: memory, passes } = cost;
  const parameters = { message: password, nonce: salt, parallelism, tagLength: KEY_BYTES, memory, passes };
  return new Promise((resolve, reject) => {
    native('argon2id', parameters, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

/** Text rather than a file, so that it is found wherever this module is copied or bundled. */
const IN_WORKER = `
const { parentPort, workerData } = require('node:worker_threads');
const { library, password, salt, memoryKiB, passes, lanes, keyBytes } = workerData;
require(library)
  .argon2id({
    password, salt, memorySize: memoryKiB, iterations: passes, parallelism: lanes, hashLength: keyBytes,
    outputType: 'binary',
  })
  .then((key) => parentPort.postMessage(Uint8Array.from(key)))
  .finally(() => password.fill(0));
`;
