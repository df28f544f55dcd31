import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { limitConnections, limitPipelining } from '../../../src/platform/http/connections.js';
import { eventually } from '../../kit/index.js';

/** Stands for a connection over IPv6, which the machine may not have. */
class Connection extends Duplex {
  constructor(readonly remoteAddress: string) {
    super();
  }
}

it('connections of an IPv6 /48 are limited to 2000 over all of its /64; one that ends makes room', () => {
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

describe('beyond the limit of all connections', () => {
  const [head, request] = ['GET / HTTP/1.1\r\nX-Slow: ', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'];
  let server: Server;
  let requests: number;
  let sockets: Socket[];
  beforeEach(async () => {
    [requests, sockets] = [0, []];
    server = createServer(() => requests++);
    limitConnections(server, 4);
    limitPipelining(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  async function open(localAddress: string, bytes: string): Promise<void> {
    const { port } = server.address() as AddressInfo;
    const accepted = once(server, 'connection');
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
    sockets.push(socket);
    await accepted;
    const before = requests;
    socket.write(bytes);
    if (bytes === request) await eventually(() => expect(requests).toBe(before + 1));
  }

  const areClosed = (closed: boolean[]): Promise<void> =>
    eventually(() => expect(sockets.map(({ destroyed }) => destroyed)).toEqual(closed));

  it('the network with the most connections loses its oldest one without a request', async () => {
    await open('127.0.0.2', request);
    for (const address of ['127.0.0.2', '127.0.0.2', '127.0.0.3']) await open(address, head);
    await open('127.0.0.4', request);
    await areClosed([false, true, false, false, false]);
  });

  it('the network with the most connections loses its oldest one when all have requests', async () => {
    await open('127.0.0.3', head);
    for (let n = 0; n < 3; n++) await open('127.0.0.2', request);
    await open('127.0.0.4', request);
    await areClosed([false, true, false, false, false]);
  });

  it('a connection without a request closes when no network has more than that of the newest', async () => {
    for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) await open(address, request);
    await open('127.0.0.5', head);
    await open('127.0.0.6', request);
    await areClosed([false, false, false, true, false]);
  });
});
