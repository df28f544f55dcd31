import { join } from 'node:path';
import type { Bench } from '../bench.js';
import { freePort } from '../free-port.js';
import { Client } from '../measure/client.js';
import { startProgram } from './program.js';
import { serviceTarget, type Target } from './target.js';

/** The service as reached over a link with this round trip time. */
export async function farTarget(bench: Bench, roundTripMs: number): Promise<Target> {
  const target = await serviceTarget(bench);
  const url = await farUrl(bench, target.url, roundTripMs);
  const token = await (await bench.account()).token();
  return { ...target, url, client: new Client(url, { authorization: `Bearer ${token}` }) };
}

async function farUrl(bench: Bench, url: string, roundTripMs: number): Promise<string> {
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    TO: new URL(url).port,
    PORT: String(port),
    HALF_TRIP_MS: String(roundTripMs / 2),
  };
  const script = join(import.meta.dirname, 'far-link.js');
  bench.ending(await startProgram([process.execPath, script], { env }, /http:\/\/127/));
  return `http://127.0.0.1:${port}`;
}
