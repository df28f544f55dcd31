import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ENCRYPTED_PATH } from '../files/index.js';
import { BadRequest } from '../platform/http/index.js';

function fromQuery(name: string, read: (value: unknown) => unknown): () => ParameterDecorator {
  return createParamDecorator((_: unknown, context: ExecutionContext) => {
    const { query } = context.switchToHttp().getRequest<FastifyRequest>();
    return read((query as Record<string, unknown>)[name]);
  });
}

/** Optional `fromCursor`. */
export const FromCursor = fromQuery('fromCursor', (value) => {
  if (value === undefined) return undefined;
  const cursor = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(cursor)) return cursor;
  throw new BadRequest('fromCursor must be a cursor: an integer of 0 or more');
});

/** Required `encPath`. */
export const EncryptedPathQuery = fromQuery('encPath', (value) => {
  if (typeof value === 'string' && ENCRYPTED_PATH.test(value)) return value;
  throw new BadRequest('encPath must be 1 to 4096 base64url characters');
});
