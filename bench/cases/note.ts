import { createHash, randomBytes } from 'node:crypto';

export interface Note {
  readonly path: string;
  readonly body: Buffer;
  readonly headers: Record<string, string>;
}

const MEDIAN_BYTES = 2560;
/** Nine of ten are below 16 KiB, 99 of a hundred below 64 KiB. */
const SPREAD = 1.4;
const MOST_BYTES = 1024 * 1024;

/** A note as a client holds it before sending: encrypted, named and hashed. */
export function note(size: number): Note {
  const body = randomBytes(size);
  const hash = createHash('sha256').update(body).digest('hex');
  const headers = {
    'content-type': 'application/octet-stream',
    'x-content-hash': hash,
    'x-device-id': 'bench',
  };
  return { path: randomBytes(24).toString('base64url'), body, headers };
}

/** Notes of lognormal sizes, which are the same in each run. */
export function notebook(count: number): Note[] {
  const random = seeded(1);
  return Array.from({ length: count }, () => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return note(Math.min(MOST_BYTES, Math.round(MEDIAN_BYTES * Math.exp(SPREAD * normal))));
  });
}

/** A generator of numbers from 0 inclusive to 1 exclusive. */
function seeded(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
