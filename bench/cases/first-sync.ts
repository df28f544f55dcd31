import type { Figures } from '../measure/figures.js';
import { perSecond } from '../measure/load.js';
import { processorMicros } from '../measure/processes.js';
import type { Keeper, Place } from '../servers/keepers.js';
import type { Note } from './note.js';

/** How one device uploads everything to an empty place, and another one downloads it. */
export interface Way {
  readonly up: (place: Place, notes: readonly Note[]) => Promise<unknown>;
  /** Returns the number of bytes. */
  readonly down: (place: Place, notes: readonly Note[]) => Promise<number>;
}

/** One request per note. */
export const oneByOne = (inFlight: number): Way => ({
  up: (place, notes) => perSecond(notes.length, inFlight, (i) => place.put(notes[i] as Note)),
  down: (place, notes) => place.fetchAll(notes, inFlight),
});

/** For places that have `bulk`. */
export const inBulk: Way = {
  up: async ({ bulk }, notes) => bulk?.putAll(notes),
  down: async ({ bulk }, notes) => (await bulk?.fetchAll(notes)) ?? NaN,
};

export interface FirstSync {
  readonly up: Spent;
  readonly down: Spent;
}

interface Spent {
  readonly seconds: number;
  /** CPU time per note. */
  readonly cpuMicros: number;
}

export async function firstSync(keeper: Keeper, written: readonly Note[], way: Way): Promise<FirstSync> {
  const place = await keeper.emptyPlace();
  const spent = async (work: () => Promise<unknown>): Promise<Spent> => {
    let seconds = 0;
    const micros = await processorMicros(keeper.pids, async () => {
      const started = performance.now();
      await work();
      seconds = (performance.now() - started) / 1000;
    });
    return { seconds, cpuMicros: micros / written.length };
  };
  const up = await spent(() => way.up(place, written));
  const down = await spent(async () => {
    const bytes = await way.down(place, written);
    if (bytes < totalBytes(written)) throw new Error(`${keeper.name} returned only ${bytes} bytes`);
  });
  return { up, down };
}

export const rates = ({ up, down }: FirstSync, notes: number): Figures => ({
  uploadsPerSecond: notes / up.seconds,
  cpuMicrosPerUpload: up.cpuMicros,
  downloadsPerSecond: notes / down.seconds,
  cpuMicrosPerDownload: down.cpuMicros,
});

const totalBytes = (written: readonly Note[]): number =>
  written.reduce((sum, { body }) => sum + body.length, 0);
