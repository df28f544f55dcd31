import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv4 } from 'node:net';

/** An address and a port: IPv6 in brackets, the port optional; IPv4 bare, the port required. */
const BRACKETED = /^\[([^\]]*)\](?::\d+)?$/;
const WITH_PORT = /^([\d.]+):\d+$/;

/**
 * The address of the client of a request or an upgrade, in its canonical form; the one place that decides it.
 * Behind a trusted proxy it is the last entry of `X-Forwarded-For`, which the proxy itself has written; what stands left of
 * that is the client's word. An entry without an address is as good as none: the peer's address counts then, so that
 * no client can make up a new one for each request.
 */
export function clientAddress({ headers, socket }: IncomingMessage, isProxyTrusted: boolean): string {
  const forwarded = isProxyTrusted ? headers['x-forwarded-for'] : undefined;
  const last = forwarded?.toString().split(',').at(-1);
  return (last && addressIn(last)) || canonical(socket.remoteAddress ?? '') || 'unknown';
}

/**
 * The address in an entry of `X-Forwarded-For`, whichever form the proxy writes: with a port, in brackets or
 * in quotes, with a zone, IPv4 mapped to IPv6. Undefined for anything else, as `unknown`.
 */
export function addressIn(entry: string): string | undefined {
  const bare = entry
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim();
  const bracketed = BRACKETED.exec(bare)?.[1];
  if (bracketed !== undefined) return canonical(bracketed);
  const [, beforePort = ''] = WITH_PORT.exec(bare) ?? [];
  return canonical(isIPv4(beforePort) ? beforePort : bare);
}

function canonical(address: string): string | undefined {
  const [unzoned = ''] = address.split('%');
  return isIP(unzoned) ? ipaddr.process(unzoned).toString() : undefined;
}
