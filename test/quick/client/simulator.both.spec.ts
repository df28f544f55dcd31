import fc from 'fast-check';
import { rounds } from '../../kit/rounds.js';
import { played, sequence } from '../../kit/simulator/sequences.js';

const runs = Number(process.env.SIMULATOR_RUNS ?? rounds(60, 300));
const seed = Number(process.env.SIMULATOR_SEED ?? 42);
const path = process.env.SIMULATOR_PATH;

describe('devices that sync a folder', () => {
  it(`lose nothing and converge, whatever happens: ${runs} sequences`, async () => {
    await fc.assert(
      fc.asyncProperty(sequence, async (given) => {
        const wrongs = await played(given);
        if (wrongs.length > 0) throw new Error(wrongs.join('\n'));
      }),
      {
        numRuns: runs,
        seed,
        ...(path === undefined ? {} : { path }),
        plugins: [fc.interruptAfterTimeLimit(3_600_000)],
      },
    );
  });
});
