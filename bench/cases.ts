import { createHash, randomBytes } from 'node:crypto';
import type { Bench } from './prepare.js';
import { perSecond, send } from './load.js';

const IN_FLIGHT = 16;
const UPLOADS = 1_000;
const READS = 1_000;
const SIZE = 4096;

interface Case {
  readonly name: string;
  /** Operations a second against the server at `url`. */
  readonly run: (bench: Bench, url: string) => Promise<number>;
}

/** A case that begins with what there is; later ones are added beside it. */
export const cases: Case[] = [
  {
    name: 'PUT 4 KiB, 16 in flight, one workspace',
    run: (bench, url) => uploads(bench, url, bench.workspaces.slice(0, 1)),
  },
  {
    name: 'PUT 4 KiB, 16 in flight, 50 workspaces',
    run: (bench, url) => uploads(bench, url, bench.workspaces),
  },
  {
    name: 'pull of 100 changes, 16 in flight',
    run: (bench, url) =>
      perSecond(READS, IN_FLIGHT, () =>
        send(`${url}/api/v1/workspaces/${bench.readWorkspace}/sync/pull`, 'POST', {
          headers: { authorization: `Bearer ${bench.token}`, 'content-type': 'application/json' },
          body: Buffer.from('{"deviceId":"bench","cursor":0,"limit":100}'),
        }),
      ),
  },
];

function uploads({ token }: Bench, url: string, workspaces: string[]): Promise<number> {
  return perSecond(UPLOADS, IN_FLIGHT, (i) => {
    const body = randomBytes(SIZE);
    const path = randomBytes(24).toString('base64url');
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/octet-stream',
      'x-content-hash': createHash('sha256').update(body).digest('hex'),
      'x-device-id': 'bench',
    };
    return send(`${url}/api/v1/workspaces/${workspaces[i % workspaces.length]}/files/${path}`, 'PUT', {
      headers,
      body,
    });
  });
}
