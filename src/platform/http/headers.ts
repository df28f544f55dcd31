import type { FastifyInstance } from 'fastify';

/** What every answer carries unless its handler says otherwise: an API is never a page, a frame or a cached thing. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const HSTS = { 'strict-transport-security': 'max-age=31536000' };

/** @param isHttps whether the public address is https, so that browsers may be told to stay there */
export function setSecurityHeaders(fastify: FastifyInstance, isHttps: boolean): void {
  const headers = isHttps ? { ...HEADERS, ...HSTS } : HEADERS;
  fastify.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers);
    done();
  });
}

/** For `enableCors`: the listed origins and no other; nothing at all when there are none. */
export function corsOptions(origins: string[]): {
  origin: string[] | false;
  credentials: boolean;
  methods: string[];
  allowedHeaders: string[];
  exposedHeaders: string[];
  maxAge: number;
} {
  return {
    origin: origins.length > 0 ? origins : false,
    credentials: true,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      ...[
        'authorization',
        'content-type',
        'idempotency-key',
        'if-match',
        'if-none-match',
        'if-range',
        'range',
      ],
      ...['x-content-hash', 'x-device-id', 'x-key-session', 'x-workspace-id'],
    ],
    exposedHeaders: [
      'accept-ranges',
      'content-range',
      'etag',
      'retry-after',
      'x-asset-size-bytes',
      'x-request-id',
    ],
    maxAge: 600,
  };
}
