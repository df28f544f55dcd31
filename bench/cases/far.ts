import { type Contestant, measureBeside } from '../measure/beside.js';
import type { Figures } from '../measure/figures.js';
import { farTarget } from '../servers/far.js';
import { serviceKeeper } from '../servers/keepers.js';
import type { Case } from './case.js';
import { firstSync, inBulk, oneByOne, type Way } from './first-sync.js';
import { notebook } from './note.js';
import { NOTES } from './notes.js';

const ROUND_TRIP_MS = 50;
/** Connections of a browser to one host. */
const CONNECTIONS = 6;
const ITEMS = 125;

export const far: Case = {
  name: 'far',
  says: `first sync of ${NOTES} notes over a link with ${ROUND_TRIP_MS} ms of round trip time and ${CONNECTIONS} connections, in batches and in single requests`,
  run: async function* (bench) {
    const written = notebook(NOTES);
    const batching = { items: ITEMS, inFlight: CONNECTIONS };
    const target = await farTarget(bench, ROUND_TRIP_MS);
    const keeper = await serviceKeeper(bench, target, { up: batching, down: batching });
    /** Each device opens its own connections. */
    const synced = async ({ up, down }: Way): Promise<Figures> => {
      const sync = await firstSync(keeper, written, {
        up: (place, notes) => up(place, notes).finally(() => target.client.close()),
        down: (place, notes) => down(place, notes).finally(() => target.client.close()),
      });
      return { secondsUp: sync.up.seconds, secondsDown: sync.down.seconds };
    };
    const contestants: Contestant[] = [
      { name: 'service, batches', run: () => synced(inBulk) },
      { name: 'service, single requests', run: () => synced(oneByOne(CONNECTIONS)) },
    ];
    yield await measureBeside(
      `first sync of ${NOTES} notes, ${ROUND_TRIP_MS} ms, ${CONNECTIONS} connections`,
      contestants,
    );
  },
};
