import { connect, createServer, type Socket } from 'node:net';

/**
 * A slow link to a server: forwards data between PORT and TO, a local port, after HALF_TRIP_MS in each direction, including
 * the end of a connection. A new connection waits for a round trip, like a TCP handshake. No limit of bandwidth, no loss.
 */
const { TO, PORT, HALF_TRIP_MS } = process.env;
const halfTrip = Number(HALF_TRIP_MS);

/** Timers with the same delay fire in order. */
function pass(from: Socket, to: Socket): void {
  from.on('data', (bytes) => setTimeout(() => to.write(bytes), halfTrip));
  from.on('end', () => setTimeout(() => to.end(), halfTrip));
  from.on('error', () => to.destroy());
}

const server = createServer({ noDelay: true, allowHalfOpen: true, pauseOnConnect: true }, (client) => {
  setTimeout(() => {
    const socket = connect({ port: Number(TO), host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    pass(client, socket);
    pass(socket, client);
    client.resume();
  }, 2 * halfTrip);
});

server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}`));
process.on('SIGTERM', () => process.exit(0));
