import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DEVICE_ID } from '../devices/index.js';
import { BadRequest } from '../platform/http/index.js';
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
export const NotePath = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { '*': path } = context.switchToHttp().getRequest<FastifyRequest>().params as { '*': string };
  return notePath(path);
});

/** `X-Device-Id`, or `automation` without one: the device that makes the change, and is not told of it. */
export const WritingDevice = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const deviceId = context.switchToHttp().getRequest<FastifyRequest>().headers['x-device-id'];
  if (deviceId === undefined) return DEFAULT_DEVICE;
  if (typeof deviceId === 'string' && DEVICE_ID.test(deviceId)) return deviceId;
  throw new BadRequest('X-Device-Id must be 1 to 128 visible ASCII characters');
});
