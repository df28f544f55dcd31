import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Http } from '../../../client/src/core/index.js';
import { Throttle } from '../../../client/src/core/http/bandwidth.js';

/** A clock that advances by sleeping alone. */
class SleptClock {
  ms = 0;
  readonly sleep = (ms: number): Promise<void> => {
    this.ms += ms;
    return Promise.resolve();
  };
  readonly now = (): number => this.ms;
}

// oxlint-disable-next-line typescript/require-await
async function* chunks(...sizes: number[]): AsyncGenerator<Uint8Array, void> {
  for (const size of sizes) yield new Uint8Array(size);
}

describe('a bandwidth limit', () => {
  it('holds for chunks of any size', async () => {
    for (const sizes of [[100_000], Array.from({ length: 100 }, () => 1_000), [1, 99_999]]) {
      const clock = new SleptClock();
      const throttle = new Throttle(10_000, clock.sleep, clock.now);
      let bytes = 0;
      for await (const part of throttle.limit(chunks(...sizes))) {
        bytes += part.length;
        expect(bytes).toBeLessThanOrEqual((clock.ms + 250) * 10 + 1);
        expect(part.length).toBeLessThanOrEqual(2_500);
      }
      expect(bytes).toBe(100_000);
      expect(clock.ms).toBeCloseTo(9_750, 0);
    }
  });

  it('is shared by concurrent transfers, and allows a burst of 250 ms after a pause', async () => {
    const clock = new SleptClock();
    const throttle = new Throttle(1_000, clock.sleep, clock.now);
    await throttle.take(250);
    expect(clock.ms).toBe(0);
    const both = [throttle.take(1_000), throttle.take(1_000)];
    await Promise.all(both);
    expect(clock.ms).toBeGreaterThanOrEqual(2_000);
    const before = (clock.ms += 60_000);
    await throttle.take(1_250);
    expect(clock.ms - before).toBe(1_000);
  });

  it.each([0, -1, Number.NaN])('refuses the rate %p', (rate) => {
    expect(() => new Throttle(rate, new SleptClock().sleep)).toThrow(RangeError);
  });
});

describe('requests with a bandwidth limit', () => {
  let server: Server;
  let url: string;
  const received: number[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      void buffer(request).then((body) => {
        received.push(body.length);
        response.end(Buffer.alloc(300_000));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it.each([
    { body: 200_000, streams: true },
    { body: 10_000, streams: true },
    { body: 200_000, streams: false },
  ])('wait for every byte sent and received: %j', async ({ body, streams }) => {
    const slept: number[] = [];
    const sleep = (ms: number): Promise<void> => {
      slept.push(ms);
      return Promise.resolve();
    };
    const limited = (bandwidth: { up?: number; down?: number }) =>
      new Http({ bandwidth, sleep, streamsUploads: streams });
    const request = { method: 'PUT', url, body: new Uint8Array(body), repeatable: false };
    // No time passes, so the last wait covers all bytes except those of a burst.
    await limited({ up: 1_000 }).send(request);
    expect(received.pop()).toBe(body);
    expect(slept.at(-1)! / 1_000).toBeCloseTo(body / 1_000 - 0.25, -1);
    slept.length = 0;
    const answer = await limited({ down: 1_000 }).send(request);
    expect((await answer.arrayBuffer()).byteLength).toBe(300_000);
    expect(slept.at(-1)! / 1_000).toBeCloseTo(300 - 0.25, -1);
  });
});
