import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ephemeral range of common systems. */
const [FIRST, LAST] = [10_000, 32_000];
const ATTEMPTS = 50;

/** Processes that run tests beside each other choose among different ones: those with this remainder. */
const AMONG = 16;
const OWN = Number(process.env.JEST_WORKER_ID ?? 0) % AMONG;
const given = new Set<number>();

/**
 * A port without a listener, outside the range for outgoing connections and for servers on port 0: the system assigns
 * it to no one else, neither before the server binds it nor during a restart. No process is given the same one twice.
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
