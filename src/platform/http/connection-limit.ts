import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey, networkKey } from './client-address.js';
import { isBetweenRequests } from './pipelining.js';

/** A tenth of the server's limit. An office behind one address has some hundreds; a family's ten devices have fifty. */
export const CONNECTIONS_PER_ADDRESS = 1_000;

/** The limit for an IPv6 /48, which has 65,536 of the /64 that are counted as addresses. */
const CONNECTIONS_PER_NETWORK = 2_000;

/**
 * Immediately closes connections beyond the limit of their address, which for IPv6 is the /64, or of their /48. Beyond the limit
 * of all, the networks with the most lose their oldest connection, of those without a request if they have one, such as one whose
 * head has not arrived. Only for a server that clients reach directly: behind a proxy, all connections come from the proxy.
 */
export function limitConnections(server: Server, most: number): void {
  const addresses = new Map<string, Set<Socket>>();
  const networks = new Map<string, Set<Socket>>();
  let all = 0;
  server.on('connection', (connection: Socket) => {
    const { remoteAddress = '' } = connection;
    const [address, network] = [addressKey(remoteAddress), networkKey(remoteAddress)];
    if (
      (addresses.get(address)?.size ?? 0) >= CONNECTIONS_PER_ADDRESS ||
      (networks.get(network)?.size ?? 0) >= CONNECTIONS_PER_NETWORK
    ) {
      connection.destroy();
      return;
    }
    const [ofAddress, ofNetwork] = [setOf(addresses, address), setOf(networks, network)];
    all++;
    ofAddress.add(connection);
    ofNetwork.add(connection);
    connection.once('close', () => {
      all--;
      ofAddress.delete(connection);
      ofNetwork.delete(connection);
      if (ofAddress.size === 0) addresses.delete(address);
      if (ofNetwork.size === 0) networks.delete(network);
    });
    if (all > most) superfluous(networks, ofNetwork.size, most)?.destroy();
  });
}

function setOf(sets: Map<string, Set<Socket>>, key: string): Set<Socket> {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set);
  return set;
}

/**
 * The connection that others need: one without a request of a network with at least half as many as the largest; otherwise one of
 * the largest, if that has a hundredth of all; otherwise one without a request. Of the first two, only of networks with more than
 * `own`.
 */
function superfluous(
  networks: ReadonlyMap<string, Set<Socket>>,
  own: number,
  most: number,
): Socket | undefined {
  const largestFirst = [...networks.values()].sort((one, other) => other.size - one.size);
  const largest = largestFirst[0]?.size ?? 0;
  const large = largestFirst.filter(({ size }) => size > own && 2 * size >= largest);
  return (
    oldestOf(large, isBetweenRequests) ??
    (largest >= most / 100 ? oldestOf(large) : undefined) ??
    oldestOf(largestFirst, isBetweenRequests)
  );
}

/** Each set has its oldest connection first. */
function oldestOf(
  networks: readonly ReadonlySet<Socket>[],
  isMeant: (connection: Socket) => boolean = () => true,
): Socket | undefined {
  for (const connections of networks)
    for (const connection of connections) if (!connection.destroyed && isMeant(connection)) return connection;
  return undefined;
}
