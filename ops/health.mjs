// Liveness of the service on this machine. Ignores readiness, because a restart does not repair the database.
import { request } from 'node:http';

const ADDRESSES = { '0.0.0.0': '127.0.0.1', '::': '::1', '': '127.0.0.1' };

/**
 * Requests /health at the address in HOST and PORT.
 * @returns true for 200 in time, or a closed connection, as the service closes those beyond its limit; never rejects
 */
export function isAlive({ HOST = '127.0.0.1', PORT = '8787' }, timeoutMs) {
  return new Promise((resolve) => {
    const end = (answer) => {
      clearTimeout(timer);
      asked.destroy();
      resolve(answer);
    };
    const asked = request({ host: ADDRESSES[HOST] ?? HOST, port: PORT, path: '/health', agent: false });
    const timer = setTimeout(end, timeoutMs, false);
    asked.on('response', ({ statusCode }) => end(statusCode === 200));
    asked.on('error', ({ code }) => end(code === 'ECONNRESET')); // a hanging process closes no connection
    asked.end();
  });
}
