import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { KeyedCounter } from '../async/index.js';
import { addressKey, networkKey } from './client-address.js';

/** A tenth of the server's limit. An office behind one address has some hundreds; a family's ten devices have fifty. */
export const CONNECTIONS_PER_ADDRESS = 1_000;

/** The limit for an IPv6 /48, which has 65,536 of the /64 that are counted as addresses. */
const CONNECTIONS_PER_NETWORK = 2_000;

/**
 * Immediately closes connections beyond the limit of their address, which for IPv6 is the /64, or of their /48. Only for a
 * server that clients reach directly: behind a proxy, all connections come from the proxy.
 */
export function limitConnections(server: Server): void {
  const open = new KeyedCounter();
  server.on('connection', (connection: Socket) => {
    const { remoteAddress = '' } = connection;
    const [address, network] = [addressKey(remoteAddress), networkKey(remoteAddress)];
    if (open.of(address) >= CONNECTIONS_PER_ADDRESS || open.of(network) >= CONNECTIONS_PER_NETWORK) {
      connection.destroy();
      return;
    }
    for (const key of [address, network]) open.increment(key);
    connection.once('close', () => {
      for (const key of [address, network]) open.decrement(key);
    });
  });
}
