import { createRequire } from 'node:module';
import type Stripe from 'stripe';

const require = createRequire(import.meta.url);

/** The payment provider's library, loaded on first use: a service without payments saves 20 MB. */
export const stripe = (): typeof Stripe => require('stripe') as typeof Stripe;

/** For one attempt, body included. With two more attempts a caller waits for a quarter of a minute at most. */
const TIMEOUT_MS = 4_000;
const RETRIES = 2;

export function stripeClient(secretKey: string, apiBase: string): Stripe {
  const { protocol, hostname, port } = new URL(apiBase);
  const isHttp = protocol === 'http:';
  const Client = stripe();
  return new Client(secretKey, {
    protocol: isHttp ? 'http' : 'https',
    host: hostname,
    port: port || (isHttp ? 80 : 443),
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    httpClient: Client.createFetchHttpClient(ask), // its timeout covers the whole answer
  });
}

/**
 * Returns an answer whose body matches its status, whatever the provider, or a proxy in front of it, has sent. The library looks
 * only at `error`: it takes a 500 without one for a success; for JSON other than an object it throws where nobody can catch it,
 * which ends the process; for anything but JSON it drops the status. A redirect is treated as a fault: following it would send
 * the key to somebody else. Danger: with `redirect: 'error'`, Node.js before 24 loses a request's timeout in the next garbage
 * collection (nodejs/undici#4627), and the answer may take forever.
 */
const ask: typeof fetch = async (url, init) => {
  const answer = await fetch(url, { ...init, redirect: 'manual' });
  const text = await answer.text();
  const body = objectIn(text);
  const isTold = body !== undefined && (answer.ok || (answer.status >= 400 && Boolean(body.error)));
  const headers = new Headers(answer.headers);
  headers.delete('stripe-notice'); // the library would print it
  return new Response(isTold ? text : '{"error":{}}', { status: answer.status, headers });
};

function objectIn(json: string): { readonly error?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
