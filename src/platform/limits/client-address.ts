import ipaddr from 'ipaddr.js';

/** The key of a client that has not said who it is. An IPv6 client owns its whole /64, so that is what counts. */
export function addressKey(ip: string): string {
  return prefixKey('address', ip, 4);
}

/** The key of the network that a client may have at its disposal: an IPv6 /48, as providers give out; an IPv4 address. */
export function networkKey(ip: string): string {
  return prefixKey('network', ip, 3);
}

/** @param groups how many of the eight groups of an IPv6 address count */
function prefixKey(kind: string, ip: string, groups: number): string {
  if (!ipaddr.isValid(ip)) return `${kind}:${ip}`;
  const address = ipaddr.process(ip);
  if (address instanceof ipaddr.IPv4) return `${kind}:${address.toString()}`;
  const prefix = address.parts.slice(0, groups).map((part) => part.toString(16));
  return `${kind}:${prefix.join(':')}::/${groups * 16}`;
}
