import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Configuration } from '../../../src/platform/config/index.js';
import { listen } from '../../../src/listen.js';

const HOST = '127.0.0.1';

/** The error code of listening on the port, or undefined. */
async function obstacleAt(port: number): Promise<string | undefined> {
  const server = createServer().listen(port, HOST);
  try {
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    server.close();
  }
}

it('a port chosen for PORT=0 is reserved during the start, and free when the start fails', async () => {
  const configuration = { host: HOST, port: 0 } as Configuration;
  const obstacles: (string | undefined)[] = [];
  const start = listen(configuration, async ({ port }) => {
    obstacles.push(await obstacleAt(port));
    throw new Error('that is all');
  });
  await expect(start).rejects.toThrow('that is all');
  expect(configuration.port).toBeGreaterThan(0);
  expect([...obstacles, await obstacleAt(configuration.port)]).toEqual(['EADDRINUSE', undefined]);
});
