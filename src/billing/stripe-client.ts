import { createRequire } from 'node:module';
import type Stripe from 'stripe';

const require = createRequire(import.meta.url);

/** The payment provider's library, loaded when it is first used: 20 MB that a service without payments does without. */
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
    httpClient: Client.createFetchHttpClient(ask), // its time limit spans the whole answer
  });
}

/**
 * An answer whose body says what its status says, whatever the provider, or a proxy before it, has sent. The library looks at
 * `error` alone, so that a 500 without one is a success to it; over JSON that is no object it throws where nobody can
 * catch it, which ends the process; and what is no JSON makes it forget the status. A redirect is a fault like any other:
 * followed, it would carry the key to somebody else. Danger: with `redirect: 'error'` Node.js before 24 loses the time limit of a
 * request in the next collection of garbage (nodejs/undici#4627), and the answer may take for ever.
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
