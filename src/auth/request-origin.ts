import type { Configuration } from '../config/index.js';

/**
 * Says of a request's headers what the identity handler is to see of where it comes from. The handler looks at all POSTs
 * with cookies, and at every sign-in and sign-up.
 *
 * - An origin that is trusted counts as our own. It is compared here, as a whole.
 * - A client that is no browser sends no cookie, and nothing of where it comes from. Node.js's `fetch` does send
 *   `Sec-Fetch-Mode`, which the handler takes for a browser that hides its origin, so that goes. Browsers send an
 *   `Origin` with each POST, if only `null`, and `Sec-Fetch-Site`: with either of them nothing is changed.
 */
export function settleOrigin(headers: Headers, { publicUrl, trustedOrigins }: Configuration): void {
  const origin = headers.get('origin');
  if (origin !== null && trustedOrigins.includes(origin)) headers.set('origin', new URL(publicUrl).origin);
  if (origin !== null || headers.has('cookie') || headers.has('sec-fetch-site')) return;
  headers.delete('sec-fetch-mode');
  headers.delete('sec-fetch-dest');
}
