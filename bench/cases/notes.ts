import { type Contestant, measureBeside, WARM_UP_MS } from '../measure/beside.js';
import { keepers } from '../servers/keepers.js';
import type { Case } from './case.js';
import { firstSync, oneByOne, rates } from './first-sync.js';
import { notebook } from './note.js';

export const NOTES = 2_000;
const IN_FLIGHT = 16;

export const notes: Case = {
  name: 'notes',
  says: `${NOTES} notes (lognormal, median 2.5 KiB) from one device to a second one, compared with nginx, pouchdb-server and others`,
  run: async function* (bench) {
    const written = notebook(NOTES);
    const { present, absent } = await keepers(bench);
    const contestants = present.map((keeper): Contestant => ({
      name: keeper.name,
      run: async () => rates(await firstSync(keeper, written, oneByOne(IN_FLIGHT)), NOTES),
    }));
    const note = absent.length > 0 ? absent.join('; ') : undefined;
    yield await measureBeside(`${NOTES} notes, ${IN_FLIGHT} in flight`, contestants, {
      warmUpMs: WARM_UP_MS,
      note,
    });
  },
};
