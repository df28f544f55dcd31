import { createServer } from 'node:net';

/** The first of `count` consecutive free ports, below the system's ephemeral range. */
export async function freePorts(count) {
  for (;;) {
    const first = 20_000 + count * Math.floor((Math.random() * 10_000) / count);
    const free = await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
