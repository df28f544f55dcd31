import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addressKey } from './address-keys.js';

/** A tenth of what the server takes. An office behind one address has some hundreds; a family's ten devices have fifty. */
export const CONNECTIONS_PER_ADDRESS = 1_000;

/**
 * Ends each connection at once that is one too many of its address; an IPv6 client is its /64. For a server that its clients
 * reach directly: behind a proxy all connections are the proxy's.
 */
export function limitConnections(server: Server): void {
  const open = new Map<string, number>();
  server.on('connection', (connection: Socket) => {
    const key = addressKey(connection.remoteAddress ?? '');
    const others = open.get(key) ?? 0;
    if (others >= CONNECTIONS_PER_ADDRESS) {
      connection.destroy();
      return;
    }
    open.set(key, others + 1);
    connection.once('close', () => {
      const left = (open.get(key) ?? 1) - 1;
      if (left === 0) open.delete(key);
      else open.set(key, left);
    });
  });
}
