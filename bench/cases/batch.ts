import { type Contestant, measureBeside, WARM_UP_MS } from '../measure/beside.js';
import { type Keeper, keepers } from '../servers/keepers.js';
import { sqlKeeper } from '../servers/sql.js';
import type { Case } from './case.js';
import { firstSync, inBulk, oneByOne, rates, type Way } from './first-sync.js';
import { notebook } from './note.js';
import { NOTES } from './notes.js';

const IN_FLIGHT = 16;
const single = oneByOne(IN_FLIGHT);

/** Uses single requests for servers without batches. */
const atOnce: Way = {
  up: (place, notes) => (place.bulk ? inBulk : single).up(place, notes),
  down: (place, notes) => (place.bulk ? inBulk : single).down(place, notes),
};

export const batch: Case = {
  name: 'batch',
  says: `${NOTES} notes in batches, compared with single requests, the SQL alone, nginx, and what pouchdb-server and others have for it`,
  run: async function* (bench) {
    const written = notebook(NOTES);
    const {
      present: [service, ...others],
      absent,
    } = await keepers(bench);
    if (!service) return;
    const contestant = (keeper: Keeper, way: Way, name = keeper.name): Contestant => ({
      name,
      run: async () => rates(await firstSync(keeper, written, way), NOTES),
    });
    const contestants = [
      contestant(service, atOnce),
      contestant(service, single, 'service, single requests'),
      contestant(await sqlKeeper(bench), atOnce),
      ...others.map((keeper) => contestant(keeper, atOnce)),
    ];
    const note = absent.length > 0 ? absent.join('; ') : undefined;
    yield await measureBeside(`${NOTES} notes in batches`, contestants, { warmUpMs: WARM_UP_MS, note });
  },
};
