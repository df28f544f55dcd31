import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { KeyedCounter } from '../async/index.js';
import { addressKey } from './address-key.js';

/** A tenth of what the server takes. An office behind one address has some hundreds; a family's ten devices have fifty. */
export const CONNECTIONS_PER_ADDRESS = 1_000;

/**
 * Ends each connection at once that is one too many of its address; an IPv6 client is its /64. For a server that its clients
 * reach directly: behind a proxy all connections are the proxy's.
 */
export function limitConnections(server: Server): void {
  const open = new KeyedCounter();
  server.on('connection', (connection: Socket) => {
    const key = addressKey(connection.remoteAddress ?? '');
    if (open.of(key) >= CONNECTIONS_PER_ADDRESS) {
      connection.destroy();
      return;
    }
    open.increment(key);
    connection.once('close', () => open.decrement(key));
  });
}
