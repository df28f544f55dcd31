import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ephemeral range of common systems. */
const [FIRST, LAST] = [10_000, 32_000];
const ATTEMPTS = 50;

/** Concurrent test processes use disjoint sets of ports: each those with its own remainder. */
const AMONG = 16;
const OWN = Number(process.env.JEST_WORKER_ID ?? 0) % AMONG;
const given = new Set<number>();

/**
 * A port without a listener, outside the system's ephemeral range: the system gives it to no other process, neither before
 * the server binds it nor during a restart. Never returns the same port twice in a process.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = AMONG * randomInt(FIRST / AMONG, LAST / AMONG) + OWN;
    try {
      const server = createServer().listen(port, '127.0.0.1');
      await once(server, 'listening');
      server.close();
      await once(server, 'close');
      if (given.has(port)) continue;
      given.add(port);
      return port;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
