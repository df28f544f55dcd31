import type { FastifyReply } from 'fastify';
import type { Served } from './api-documents.js';

/** Documentation of a route that `sendKept` answers. */
export const KEPT = {
  304: { description: 'the client has the current version', headers: { ETag: 'Identifies the version.' } },
} as const;
export const IF_NONE_MATCH = { 'If-None-Match': { description: 'The ETag that the client has.' } } as const;

/** May be cached by anybody, but must be revalidated each time: the next release has another document. */
export async function sendKept(
  reply: FastifyReply,
  known: string | undefined,
  type: string,
  { body, etag }: Served,
): Promise<void> {
  reply.headers({ etag, 'cache-control': 'public, no-cache' });
  const isKnown = known?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
  if (isKnown) await reply.status(304).send();
  else await reply.type(type).send(body);
}
