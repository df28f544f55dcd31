import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { bodyChunks } from '../../../src/platform/http/index.js';
import { loopTurn } from '../../../src/platform/http/in-flight.js';

/** Asks for turns for clients, in this order. @returns the clients in the order in which they got them */
async function begin(clients: readonly string[]): Promise<string[]> {
  const order: string[] = [];
  await Promise.all(
    clients.map(async (client) => {
      await loopTurn(undefined, client);
      order.push(client);
    }),
  );
  return order;
}

const of = (count: number, client: string): string[] => Array<string>(count).fill(client);

describe('a turn of the event loop', () => {
  it('is granted at once while few pieces of work begin in it', () => {
    expect(loopTurn(undefined, 'few')).toBeUndefined();
  });

  it('begins only a few of the thousands of pieces of one client', async () => {
    let turns = 0;
    let immediate = setImmediate(function next() {
      turns++;
      immediate = setImmediate(next);
    });
    const order = await begin(of(3_000, 'a'));
    clearImmediate(immediate);
    expect(order).toHaveLength(3_000);
    expect(turns).toBeGreaterThan(300);
  });

  it('goes to the client with the fewest so far: one piece of another overtakes thousands', async () => {
    const order = await begin([...of(3_000, 'b'), 'c', ...of(3_000, 'd'), 'e']);
    expect(order.indexOf('c')).toBeLessThan(50);
    expect(order.indexOf('e')).toBeLessThan(50);
    expect(order).toHaveLength(6_002);
  });

  it('skips pieces that are over, which take no place', async () => {
    let turns = 0;
    let immediate = setImmediate(function next() {
      turns++;
      immediate = setImmediate(next);
    });
    await Promise.all(of(3_000, 'f').map(async (client) => loopTurn(() => true, client)));
    clearImmediate(immediate);
    expect(turns).toBeLessThan(5);
  });

  it('loses no piece, and keeps the order of each client', async () => {
    const order: string[] = [];
    const pieces = Array.from({ length: 1_000 }, (_, n) => [`client ${n % 7}`, n] as const);
    await Promise.all(
      pieces.map(async ([client, n]) => {
        await loopTurn(undefined, client);
        order.push(`${client}: ${n}`);
      }),
    );
    for (let client = 0; client < 7; client++) {
      const its = order.filter((piece) => piece.startsWith(`client ${client}:`));
      expect(its).toEqual(
        pieces.filter(([name]) => name === `client ${client}`).map(([name, n]) => `${name}: ${n}`),
      );
    }
  });

  it('is awaited without a place by a body whose bytes have arrived', async () => {
    const calls: string[] = [];
    const place = { work: () => void calls.push('work'), rest: () => void calls.push('rest') };
    const body = Readable.from([
      Buffer.alloc(64 * 1024, 'a'),
      Buffer.from('b'),
      Buffer.alloc(64 * 1024, 'c'),
    ]);
    const request = Object.assign(body, { headers: {}, complete: true }) as unknown as IncomingMessage;
    const received: string[] = [];
    for (let n = 0; n < 100; n++) void loopTurn(undefined, 'g');
    for await (const chunk of bodyChunks(request, 1024 * 1024, { place })) {
      received.push(String(chunk.subarray(0, 1)));
      for (let n = 0; n < 100; n++) void loopTurn(undefined, 'h');
    }
    expect(received).toEqual(['a', 'b', 'c']);
    expect(calls).toEqual(['rest', 'work', 'work', 'rest', 'work']);
  });
});
