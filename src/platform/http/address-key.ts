import ipaddr from 'ipaddr.js';
import { isIPv4 } from 'node:net';

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
