import ipaddr from 'ipaddr.js';

/** All that is global unicast; tunnels, documentation and the like inside of it have ranges of their own. */
const GLOBAL_IPV6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * Whether an address is one of the public internet, as opposed to this machine, its networks, and everything with a
 * special meaning. IPv6 that wraps an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) is not: what is inside
 * would decide where it leads.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  return address.match(GLOBAL_IPV6) && address.range() === 'unicast';
}
