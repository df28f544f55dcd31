/** Headers of every response unless its handler overrides them: API responses are never a page, framed or cached. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const HSTS = { 'strict-transport-security': 'max-age=31536000' };

/** @param isHttps whether the public URL is https, so that HSTS can be sent */
export function securityHeaders(isHttps: boolean): Readonly<Record<string, string>> {
  return isHttps ? { ...HEADERS, ...HSTS } : HEADERS;
}

type LetIn = (error: null, isLetIn: boolean) => void;

/**
 * For `enableCors`: allows only the listed origins and sends no headers to any other; disabled when the list is empty. Danger: with
 * credentials, a fault in a page of a listed origin would open the account of whoever is signed in here.
 */
export function corsOptions(origins: string[]): {
  origin: false | ((origin: string | undefined, letIn: LetIn) => void);
  hook: 'preParsing';
  strictPreflight: false;
  credentials: false;
  methods: string[];
  allowedHeaders: string[];
  exposedHeaders: string[];
  maxAge: number;
} {
  const isListed = (origin: string | undefined): boolean => origin !== undefined && origins.includes(origin);
  return {
    origin: origins.length > 0 ? (origin, letIn) => letIn(null, isListed(origin)) : false,
    // Not onRequest: it would answer preflights before they have a request id and the headers above.
    hook: 'preParsing',
    strictPreflight: false, // the plugin's own refusal is plain text
    credentials: false,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      'authorization',
      'content-type',
      'idempotency-key',
      'if-match',
      'if-none-match',
      'if-range',
      'range',
      'x-content-hash',
      'x-device-id',
      'x-key-session',
      'x-workspace-id',
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
