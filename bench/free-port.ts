import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems give away. */
const [FIRST, LAST] = [10_000, 32_000];
const ATTEMPTS = 50;

/**
 * A port on which nobody listens just now, and which no outgoing connection and no server on port 0 is given: neither
 * before the server has it nor while it restarts.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(FIRST, LAST);
    try {
      const server = createServer().listen(port, '127.0.0.1');
      await once(server, 'listening');
      server.close();
      await once(server, 'close');
      return port;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
