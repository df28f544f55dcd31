import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { KeyedCounter } from '../async/index.js';
import { addressKey, networkKey } from './client-address.js';

/** A tenth of what the server takes. An office behind one address has some hundreds; a family's ten devices have fifty. */
export const CONNECTIONS_PER_ADDRESS = 1_000;

/** The limit for an IPv6 /48, which holds 65,536 of the /64 that are counted as addresses. */
const CONNECTIONS_PER_NETWORK = 2_000;

/**
 * Ends each connection at once that is one too many of its address, which for IPv6 is the /64, or of its /48. For a server
 * that its clients reach directly: behind a proxy all connections are the proxy's.
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
