import { type Progress, runLane } from '../../kit/model/lane.js';
import { rounds } from '../../kit/rounds.js';

const env = process.env;
const RUNS = Number(env['MODEL_RUNS'] ?? rounds(12, 80));
/** Fixed, so that an unrelated change meets no new failure; `npm run model` tries new seeds. */
const SEED = Number(env['MODEL_SEED'] ?? 1000);
/** Paths of a sequence that failed, as printed then: only that sequence is run. */
const PATH = env['MODEL_PATH'];
const REPLAY_PATH = env['MODEL_REPLAY_PATH'];
/** Sequences that are under way at once, each on a database of its own. */
const LANES = PATH === undefined ? Number(env['MODEL_LANES'] ?? 2) : 1;
const TELL_EVERY_MS = 60_000;

describe('the equality of the service and the model', () => {
  it(
    `holds in ${RUNS} sequences of up to 40 operations (MODEL_SEED=${SEED})`,
    async () => {
      const progress: Progress = { sequences: 0, operations: 0, looks: 0 };
      const beganAt = performance.now();
      const tell = (): void => {
        const seconds = Math.round((performance.now() - beganAt) / 1000);
        const { sequences, operations, looks } = progress;
        const counts = `${sequences} sequences, ${operations} operations, ${looks} looks`;
        process.stderr.write(`model: seed ${SEED}, ${counts}, ${seconds} s\n`);
      };
      const teller = setInterval(tell, TELL_EVERY_MS);
      const runs = Math.ceil(RUNS / LANES);
      const lanes = Array.from({ length: LANES }, (_, lane) =>
        runLane({
          seed: SEED + lane,
          runs,
          path: PATH,
          replayPath: REPLAY_PATH,
          progress,
        }),
      );
      const results = await Promise.all(lanes);
      clearInterval(teller);
      tell();
      const failed = results.find((result) => result.failed);
      if (failed) throw new Error(failure(failed), { cause: failed.errorInstance });
    },
    24 * 60 * 60_000,
  );
});

function failure(result: Awaited<ReturnType<typeof runLane>>): string {
  const { counterexample, counterexamplePath, errorInstance, seed, numRuns, numShrinks } = result;
  const [, replayPath] = /replayPath="([^"]*)"/.exec((counterexample ?? []).map(String).join('')) ?? [];
  return [
    `Sequence ${numRuns} failed, shrunk ${numShrinks} times.`,
    `Again: npm run model -- --seed ${seed} --path ${counterexamplePath}${replayPath ? ` --replay-path ${replayPath}` : ''}`,
    String((errorInstance as Error | null)?.message),
  ].join('\n');
}
