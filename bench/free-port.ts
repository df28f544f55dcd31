import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ephemeral range of common systems. */
const [FIRST, LAST] = [10_000, 32_000];
const ATTEMPTS = 50;

/**
 * A port without a listener, outside the range for outgoing connections and for servers on port 0: the system assigns
 * it to no one else, neither before the server binds it nor during a restart.
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
