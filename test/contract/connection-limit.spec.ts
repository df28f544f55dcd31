import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { limitConnections } from '../../src/platform/http/connection-limit.js';
import { limitPipelining } from '../../src/platform/http/pipelining.js';
import { eventually } from '../kit/index.js';

/** This machine has no IPv6 network: connections stand for those that would come from one. */
class Connection extends Duplex {
  constructor(readonly remoteAddress: string) {
    super();
  }
}

it('connections of an IPv6 /48 are limited to 2000 over all of its /64; each that ends makes room', () => {
  const server = createServer();
  server.removeAllListeners('connection');
  limitConnections(server, 10_000);
  const open = (address: string): Connection => {
    const connection = new Connection(address);
    server.emit('connection', connection);
    return connection;
  };
  const all = Array.from({ length: 2_000 }, (_, n) => open(`2001:db8:1:${n % 20}::${n}`));
  expect(all.some(({ destroyed }) => destroyed)).toBe(false);
  expect(open('2001:db8:1:ffff::1').destroyed).toBe(true);
  expect(open('2001:db8:2::1').destroyed).toBe(false);
  all[0]!.emit('close');
  expect(open('2001:db8:1:ffff::1').destroyed).toBe(false);
  expect(open('2001:db8:1:ffff::1').destroyed).toBe(true);
});

it('beyond the limit of all, the network with the most loses its oldest connection without a request', async () => {
  let requests = 0;
  const server = createServer(() => requests++);
  limitConnections(server, 4);
  limitPipelining(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const open = async (localAddress: string, bytes: string): Promise<void> => {
    const accepted = once(server, 'connection');
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
    sockets.push(socket);
    await accepted;
    socket.write(bytes);
  };
  const [head, request] = ['GET / HTTP/1.1\r\nX-Slow: ', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'];
  try {
    await open('127.0.0.2', request);
    for (const address of ['127.0.0.2', '127.0.0.2', '127.0.0.3']) await open(address, head);
    await eventually(() => expect(requests).toBe(1));
    await open('127.0.0.4', request);
    await eventually(() => expect(requests).toBe(2));
    await eventually(() =>
      expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, false, false, false]),
    );
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});
