import { setTimeout as pause } from 'node:timers/promises';
import { adminReport } from '../../kit/admin.js';
import { expectReplayLaw, scrub } from '../../kit/oracles.js';
import { Random } from '../../kit/random.js';
import { rounds } from '../../kit/rounds.js';
import { Report } from '../../kit/crash/report.js';
import { World } from '../../kit/crash/world.js';
import type { Tally } from '../../kit/crash/writer.js';

/** `npm run crash` sets these. */
const ASKED_ROUNDS = process.env['CRASH_ROUNDS'];
const ROUNDS = Number(ASKED_ROUNDS ?? rounds(1, 6));
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
/** Long enough that everything stands still; only longer stops reach time limits. */
const STOP_SECONDS = Number(process.env['CRASH_STOP_SECONDS'] ?? 2);

const PATIENCE_MS = ROUNDS * (180_000 + STOP_SECONDS * 1000);
const HOUR_MS = 60 * 60_000;

const random = new Random(SEED);
const report = new Report();

/** Waits for some acknowledgements, to crash in mid-write. Bounded: a long stop may end all writers. */
async function moment(tally: Readonly<Tally>): Promise<void> {
  const goal = tally.acknowledged + 10 + random.below(50);
  for (let looks = 0; tally.acknowledged < goal && looks < 1000; looks++) await pause(2);
}

let world: World;
beforeAll(async () => {
  world = await World.start(SEED);
});
afterEach(() => world.service.expectAlive()); // a dead service would explain any other failure
afterAll(() => world.end());

interface Crash {
  readonly name: string;
  readonly kills: readonly ('service' | 'postgres')[];
  happen(tally: Readonly<Tally>): Promise<unknown>;
}

const killService: Crash = {
  name: 'kill -9 of the service',
  kills: ['service'],
  happen: () => world.service.end('SIGKILL'),
};

const killPostgres: Crash = {
  name: 'kill -9 of PostgreSQL',
  kills: ['postgres'],
  happen: () => world.postgres.kill(),
};

const killBoth: Crash = {
  name: 'kill -9 of both',
  kills: ['service', 'postgres'],
  happen: () => Promise.all([world.service.end('SIGKILL'), world.postgres.kill()]),
};

const stopService: Crash = {
  name: 'a stop of the service',
  kills: [],
  happen: async (tally) => {
    world.service.child.kill('SIGSTOP');
    await pause(STOP_SECONDS * 1000);
    world.service.child.kill('SIGCONT');
    await moment(tally);
  },
};

const stopPostgres: Crash = {
  name: 'a stop of PostgreSQL',
  kills: [],
  happen: async (tally) => {
    await world.postgres.signal('SIGSTOP');
    await pause(STOP_SECONDS * 1000);
    await world.postgres.signal('SIGCONT');
    await moment(tally);
  },
};

/** Stops take long and are less dangerous, so there is one for every four kills. */
const CRASHES: readonly Crash[] = [
  ...[killBoth, killPostgres, killService, stopService, stopPostgres],
  ...[killService, killPostgres, killBoth, killPostgres, killService],
];

async function round(crash: Crash): Promise<void> {
  const started = performance.now();
  const tally = await world.storm(async (soFar) => {
    await moment(soFar);
    await crash.happen(soFar);
  });
  if (crash.kills.includes('postgres')) {
    await world.postgres.start();
  }
  if (crash.kills.includes('service')) await world.restartService();
  const readyMs = await world.ready();
  await world.logIn();
  const happened = await world.settle(tally);
  report.add(crash.name, tally, { happened, readyMs, ms: performance.now() - started });
}

describe(`${ROUNDS} crashes in a storm of writes, seed ${SEED}`, () => {
  it('happen on a PostgreSQL that waits for its disk', async () => {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes'])
      expect(await world.postgres.query(`SELECT current_setting('${setting}') AS is`)).toEqual([
        { is: 'on' },
      ]);
  });

  it(
    'lose no acknowledged write, leave nothing half-done, and every retry converges',
    async () => {
      for (let n = 0; n < ROUNDS; n++) {
        await round(CRASHES[n % CRASHES.length]!);
        if (ASKED_ROUNDS) process.stdout.write(`${n + 1}: ${report.lastLine}\n`);
      }
      expect(report.acknowledged).toBeGreaterThan(ROUNDS * 10);
      expect(report.unheard).toBeGreaterThan(ROUNDS);
    },
    PATIENCE_MS,
  );

  it(
    'leave all files with their bytes, and the doctor finds nothing',
    async () => {
      await world.expectAll();
      for (const history of world.histories) await expectReplayLaw(history.as(world.alice));
      await scrub(world.postgres, world.dataDir);
      await world.expectNothingUnnamed();
      const env = { DATA_DIR: world.dataDir, DATABASE_URL: world.postgres.url };
      expect(await adminReport(env, 'doctor', '--deep')).toMatchObject({ found: 0 });
      const later = new Date(Date.now() + 2 * HOUR_MS).toISOString();
      expect(await adminReport(env, 'blobs', 'sweep', '--now', later)).toMatchObject({ stuck: 0 });
      // Blobs that a killed sweep had claimed stay claimed for a while.
      const left = `SELECT id, state FROM blobs WHERE state <> 'live' AND claimed_until IS NULL`;
      expect(await world.postgres.query(left)).toEqual([]);
      if (ASKED_ROUNDS) process.stdout.write(`seed ${SEED}: ${report.text}\n`);
    },
    PATIENCE_MS,
  );
});
