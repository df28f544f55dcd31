import fc, { type RunDetails } from 'fast-check';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { startService } from '../index.js';
import { AccountUnderTest, type Lane } from './account-under-test.js';
import { QUOTA } from './assets.js';
import { HttpClient } from './http-client.js';
import { expectLaws, expectLawsOfTables, expectNothingLeft } from './laws.js';
import { NOTHING } from './state.js';
import { type Belief, performTogether, type Reality, steps, type Tally } from './steps.js';

/** Each sequence begins on a Wednesday night, so that hours, days, weeks and a month end soon. */
const BEGINNING = new Date('2026-03-25T22:30:00.000Z');

const LONGEST = 40;

/** Small, so that contents of a few hundred bytes are kept in the blob store. */
const INLINE_BLOB_BYTES = 200;

const ENV = {
  LOG_LEVEL: 'silent',
  // The database server of the tests has connections for two files at once.
  DATABASE_POOL_SIZE: '4',
  INLINE_BLOB_BYTES: String(INLINE_BLOB_BYTES),
  ASSET_QUOTA_PRO_BYTES: String(QUOTA.pro),
  ASSET_QUOTA_FREE_BYTES: String(QUOTA.free),
  // Nightly jobs run only in the sequences.
  RETENTION_CRON: '0 0 29 2 *',
};

export interface LaneOptions {
  readonly seed: number;
  readonly runs: number;
  /** The printed path of a failed sequence, to begin with it. */
  readonly path?: string | undefined;
  /** Printed with the path; needed for a shrunk sequence. */
  readonly replayPath?: string | undefined;
  readonly progress: Progress;
}

/** Shared by all lanes. */
export interface Progress extends Tally {
  /** The seed of the lane that failed first; the others then stop. */
  failed?: number;
}

type Sequence = Parameters<typeof fc.asyncModelRun<Belief, Reality, false, Belief>>[1];

/** Runs sequences one after the other, on two instances of the service with their own database. */
export async function runLane({
  seed,
  runs,
  path,
  replayPath,
  progress,
}: LaneOptions): Promise<RunDetails<[Sequence]>> {
  const first = await startService({ env: ENV });
  const second = await startService({ env: ENV, beside: first });
  const lane = { services: [first, second], client: new HttpClient() } as const;
  const stranger = await first.newcomer('stranger');
  await first.app.get(Subscriptions).grant(stranger.id, 'active', null);
  let accounts = 0;
  try {
    const property = fc.asyncProperty(steps(LONGEST, replayPath), async (sequence) => {
      if ((progress.failed ?? seed) !== seed) return;
      try {
        await runSequence(lane, sequence, { email: `${accounts++}@example.org`, tally: progress });
      } catch (error) {
        progress.failed ??= seed;
        throw error;
      }
    });
    const from = path === undefined ? {} : { path };
    const details = await fc.check(property, { seed, numRuns: runs, plugins: [fc.unbiased()], ...from });
    return details as fc.RunDetails<[Sequence]>;
  } finally {
    lane.client.close();
    await second.close();
    await first.close();
  }
}

async function runSequence(
  lane: Lane,
  sequence: Sequence,
  { email, tally }: { email: string; tally: Tally },
): Promise<void> {
  const [{ clock, database }] = lane.services;
  clock.stopAt(BEGINNING);
  await database.query('DELETE FROM retention_progress');
  const account = await AccountUnderTest.open(lane, email);
  const reality: Reality = { account, clock, tally, history: [] };
  const belief: Belief = { worlds: [NOTHING], born: 0, names: new Map([['workspace', 1]]) };
  try {
    await performTogether(belief, reality, [
      { kind: 'create workspace', by: 'owner', at: 0, name: 'workspace 1' },
    ]);
    await fc.asyncModelRun(() => ({ model: belief, real: reality }), sequence);
    await performTogether(belief, reality, [{ kind: 'subscribe', isSubscribed: true }]);
    await expectLaws(belief, reality);
    await account.settle();
    await expectLawsOfTables(database);
    await account.leave();
    await expectNothingLeft(database);
    tally.sequences++;
  } catch (error) {
    // The next sequence, which may be a shrunk form of this one, must not see what is left.
    await database.query(
      'TRUNCATE workspaces, blobs, files, versions, changes, storage_accounts, access_tokens, job_runs CASCADE',
    );
    const steps = reality.history.map((step, index) => `${index + 1}. ${step}`);
    throw new Error([...steps, (error as Error).message].join('\n'), { cause: error });
  }
}
