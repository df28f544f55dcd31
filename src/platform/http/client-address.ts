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

/** The key of a client that has not said who it is; a connection that was reset has no address. An IPv6 client owns its whole /64, so that is what counts. */
export const addressKey = (ip: string | undefined): string => `address:${prefixOf(ip, 64)}`;

/**
 * The key of the network that an address belongs to: its /48 for IPv6, which is what one customer may get and
 * holds 65,536 of the /64 that `addressKey` counts; for IPv4 the address itself. Never equal to an `addressKey`, so a
 * client can be counted by both.
 */
export const networkKey = (ip: string | undefined): string => `network:${prefixOf(ip, 48)}`;

const MAPPED = '::ffff:';

/** @param bits of an IPv6 address, a multiple of 16; IPv4 addresses, mapped ones too, are returned whole */
function prefixOf(ip = '', bits: 48 | 64): string {
  const short = ip.startsWith(MAPPED) ? ip.slice(MAPPED.length) : ip;
  if (isIPv4(short) || !ipaddr.isValid(ip)) return short;
  const address = ipaddr.process(ip);
  if (address instanceof ipaddr.IPv4) return address.toString();
  const groups = address.parts.slice(0, bits / 16).map((part) => part.toString(16));
  return `${groups.join(':')}::/${bits}`;
}
