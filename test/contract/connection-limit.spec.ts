import { createServer } from 'node:http';
import { Duplex } from 'node:stream';
import { limitConnections } from '../../src/platform/http/connection-limit.js';

/** This machine has no IPv6 network: connections stand for those that would come from one. */
class Connection extends Duplex {
  constructor(readonly remoteAddress: string) {
    super();
  }
}

it('connections of an IPv6 /48 are limited to 2000 over all of its /64; each that ends makes room', () => {
  const server = createServer();
  server.removeAllListeners('connection');
  limitConnections(server);
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
