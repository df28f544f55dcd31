import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv4 } from 'node:net';

/** An address with a port: IPv6 in brackets, port optional; IPv4 bare, port required. */
const BRACKETED = /^\[([^\]]*)\](?::\d+)?$/;
const WITH_PORT = /^([\d.]+):\d+$/;

/**
 * Determines the client address of a request or an upgrade, in canonical form; no other code does so. Behind a trusted proxy, it
 * is the last entry of `X-Forwarded-For`, which the proxy itself wrote; all earlier entries are claims of the client. An entry
 * without an address is ignored and the peer's address used, so that no client can invent a new address per request.
 */
export function clientAddress({ headers, socket }: IncomingMessage, isProxyTrusted: boolean): string {
  const forwarded = isProxyTrusted ? headers['x-forwarded-for'] : undefined;
  const last = forwarded?.toString().split(',').at(-1);
  return (last && addressIn(last)) || canonical(socket.remoteAddress ?? '') || 'unknown';
}

/**
 * Parses an entry of `X-Forwarded-For` in any form a proxy writes: with a port, in brackets or quotes, with a zone,
 * IPv4-mapped IPv6. Returns undefined for anything else, such as `unknown`.
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

/**
 * The key of an unauthenticated client; a connection that was reset has no address. An IPv6 client owns its whole /64, so the
 * key is the /64.
 */
export const addressKey = (ip: string | undefined): string => `address:${prefixOf(ip, 64)}`;

/**
 * The key of an address's network: for IPv6 its /48, which one customer may own and which contains 65,536 of the /64 networks
 * that `addressKey` counts; for IPv4 the address itself. Never equal to an `addressKey`, so a client can be counted by both.
 */
export const networkKey = (ip: string | undefined): string => `network:${prefixOf(ip, 48)}`;

/** @param bits the prefix length for IPv6, a multiple of 16; IPv4 addresses, including mapped ones, are returned whole */
function prefixOf(ip = '', bits: 48 | 64): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  if (address instanceof ipaddr.IPv4) return address.toString();
  const groups = address.parts.slice(0, bits / 16).map((part) => part.toString(16));
  return `${groups.join(':')}::/${bits}`;
}
