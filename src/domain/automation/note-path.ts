import { deviceIdOf } from '../devices/index.js';
import { BadRequest, fromRequest } from '../../platform/http/index.js';
import { InvalidPathError, normalizePath } from './vault-crypto.js';

/** UTF-8 bytes. The vault itself allows three times as many, but a path must also fit into a URL, percent-encoded. */
const MAX_PATH_BYTES = 1024;

const DEFAULT_DEVICE = 'automation';

/** Normalizes the path of a note as in the vault, to NFC. @throws BadRequest */
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

/** The note named by the rest of the URL, percent-decoded. */
export const NotePath = fromRequest(({ params }) => notePath((params as { '*': string })['*']));

/** `X-Device-Id`, or `automation` when absent: the device that makes the change and is not notified of it. */
export const WritingDevice = fromRequest((request) => deviceIdOf(request) ?? DEFAULT_DEVICE);
