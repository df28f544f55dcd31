// Whether the service on this machine is alive. Readiness is not asked, because a restart cures no database.
import { request } from 'node:http';

const ADDRESSES = { '0.0.0.0': '127.0.0.1', '::': '::1', '': '127.0.0.1' };

/**
 * Asks /health where HOST and PORT say that the service listens.
 * @returns whether it answers 200 in time, or closes the connection, which it does to those beyond its limit; never rejects
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
    asked.on('error', ({ code }) => end(code === 'ECONNRESET')); // a process that hangs closes nothing
    asked.end();
  });
}
