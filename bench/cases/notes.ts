import { type Contestant, measureBeside, WARM_UP_MS } from '../measure/beside.js';
import type { Figures } from '../measure/figures.js';
import { perSecond } from '../measure/load.js';
import { processorMicros } from '../measure/processes.js';
import { type Keeper, keepers } from '../servers/keepers.js';
import type { Case } from './case.js';
import { type Note, notebook } from './note.js';

const NOTES = 2_000;
const IN_FLIGHT = 16;

export const notes: Case = {
  name: 'notes',
  says: `${NOTES} notes (lognormal, median 2.5 KiB) from one device to a second one, compared with nginx, pouchdb-server and others`,
  run: async function* (bench) {
    const written = notebook(NOTES);
    const { present, absent } = await keepers(bench);
    const contestants = present.map((keeper): Contestant => ({
      name: keeper.name,
      run: () => syncedThrough(keeper, written),
    }));
    const note = absent.length > 0 ? absent.join('; ') : undefined;
    yield await measureBeside(`${NOTES} notes, ${IN_FLIGHT} in flight`, contestants, {
      warmUpMs: WARM_UP_MS,
      note,
    });
  },
};

/** One device uploads everything to an empty place, then another one downloads it. */
async function syncedThrough(keeper: Keeper, written: readonly Note[]): Promise<Figures> {
  const place = await keeper.emptyPlace();
  let [uploads, seconds] = [0, 0];
  const uploading = await processorMicros(keeper.pids, async () => {
    uploads = await perSecond(written.length, IN_FLIGHT, (i) => place.put(written[i] as Note));
  });
  const downloading = await processorMicros(keeper.pids, async () => {
    const started = performance.now();
    const bytes = await place.fetchAll(written, IN_FLIGHT);
    seconds = (performance.now() - started) / 1000;
    if (bytes < totalBytes(written)) throw new Error(`${keeper.name} returned only ${bytes} bytes`);
  });
  return {
    uploadsPerSecond: uploads,
    cpuMicrosPerUpload: uploading / written.length,
    downloadsPerSecond: written.length / seconds,
    cpuMicrosPerDownload: downloading / written.length,
  };
}

const totalBytes = (written: readonly Note[]): number =>
  written.reduce((sum, { body }) => sum + body.length, 0);
