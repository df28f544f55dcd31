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
 * of all, the largest network loses its oldest connection, of those without a request if it has one, such as one whose head has
 * not arrived; where none is larger than the newcomer's, the largest that has one without a request. Only for a server that clients reach directly: behind a proxy, all connections come from the proxy.
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
    if (all > most) superfluous(networks, ofNetwork.size)?.destroy();
  });
}

function setOf(sets: Map<string, Set<Socket>>, key: string): Set<Socket> {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set);
  return set;
}

/** @param own how many the network of the newest connection has */
function superfluous(networks: ReadonlyMap<string, Set<Socket>>, own: number): Socket | undefined {
  const largestFirst = [...networks.values()].sort((one, other) => other.size - one.size);
  const [largest] = largestFirst;
  if (largest && largest.size > own) return oldest(largest, isBetweenRequests) ?? oldest(largest);
  for (const connections of largestFirst) {
    const found = oldest(connections, isBetweenRequests);
    if (found) return found;
  }
  return undefined;
}

/** The first of a set, which has the oldest connection first. */
function oldest(
  connections: ReadonlySet<Socket>,
  isMeant: (connection: Socket) => boolean = () => true,
): Socket | undefined {
  for (const connection of connections) if (!connection.destroyed && isMeant(connection)) return connection;
  return undefined;
}
