import ipaddr from 'ipaddr.js';

/** The key of a client that has not said who it is. An IPv6 client owns its whole /64, so that is what counts. */
export function addressKey(ip: string): string {
  if (!ipaddr.isValid(ip)) return `address:${ip}`;
  const address = ipaddr.process(ip);
  if (address instanceof ipaddr.IPv4) return `address:${address.toString()}`;
  return `address:${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
