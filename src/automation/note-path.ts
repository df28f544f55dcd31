import { deviceIdOf } from '../devices/index.js';
import { BadRequest, fromRequest } from '../platform/http/index.js';
import { InvalidPathError, normalizePath } from './vault-crypto.js';

/** Bytes of UTF-8. The vault itself takes three times as many; a path must also fit into a URL, percent-encoded. */
const MAX_PATH_BYTES = 1024;

const DEFAULT_DEVICE = 'automation';

/** The path of a note as the vault has it, in NFC. @throws BadRequest */
export function notePath(path: string): string {
  const normal = normalized(path);
  if (Buffer.byteLength(normal, 'utf8') > MAX_PATH_BYTES)
    throw new BadRequest(`the path is longer than ${MAX_PATH_BYTES} bytes`);
  return normal;
}

function normalized(path: string): string {
  try {
    return normalizePath(path);
  } catch (error) {
    throw error instanceof InvalidPathError ? new BadRequest(error.message) : error;
  }
}

/** The note that the rest of the URL names, percent-decoded. */
export const NotePath = fromRequest(({ params }) => notePath((params as { '*': string })['*']));

/** `X-Device-Id`, or `automation` without one: the device that makes the change, and is not told of it. */
export const WritingDevice = fromRequest((request) => deviceIdOf(request) ?? DEFAULT_DEVICE);
