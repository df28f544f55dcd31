import { join } from 'node:path';
import type { Bench } from '../bench.js';
import { result, type Result } from '../measure/beside.js';
import type { Client } from '../measure/client.js';
import type { Figures } from '../measure/figures.js';
import { perSecond } from '../measure/load.js';
import { readProfile, type Share } from '../measure/profile.js';
import { Account } from '../servers/account.js';
import { downloadBatches, uploadBatches } from '../servers/batches.js';
import { startService } from '../servers/service.js';
import type { Case } from './case.js';
import { note } from './note.js';

const CHANGES = 2_000;
const [AREA_PERCENT, FUNCTIONS] = [0.5, 30];
const EVERY_MICROS = 200;

type Work = (client: Client, workspaceId: string) => Promise<unknown>;

interface Times {
  readonly inFlight: number;
  readonly warmUp: number;
  readonly measured: number;
  /** Number of operations per call, to compute the time of each. */
  readonly operations: number;
}

const REQUESTS: Times = { inFlight: 16, warmUp: 2_000, measured: 6_000, operations: 1 };
const BATCH = 250;
const UPLOADS: Times = { inFlight: 2, warmUp: 20, measured: 60, operations: BATCH };
/** Each operation downloads the whole workspace. */
const DOWNLOADS: Times = { inFlight: 1, warmUp: 5, measured: 15, operations: CHANGES };

const put: Work = (client, id) => {
  const { path, ...sent } = note(4096);
  return client.send('PUT', `/api/v1/workspaces/${id}/files/${path}`, sent);
};
const pull: Work = (client, id) =>
  client.sendJson('POST', `/api/v1/workspaces/${id}/sync/pull`, { deviceId: 'bench', cursor: 0, limit: 100 });
const batchUpload: Work = (client, id) =>
  uploadBatches(
    client,
    id,
    Array.from({ length: BATCH }, () => note(4096)),
    { items: BATCH, inFlight: 1 },
  );
const batchDownload: Work = (client, id) => downloadBatches(client, id, { items: BATCH, inFlight: 2 });

export const profile: Case = {
  name: 'profile',
  says: 'where the service spends its time during PUT 4 KiB and pull of 100, 16 in flight, and batches of 250 files (only on request)',
  isExtra: true,
  run: async function* (bench) {
    yield* await profiled(bench, 'PUT 4 KiB', put, REQUESTS);
    yield* await profiled(bench, 'pull of 100 changes', pull, REQUESTS);
    yield* await profiled(bench, 'a file of 4 KiB in a batch upload', batchUpload, UPLOADS);
    yield* await profiled(bench, 'a file of 4 KiB in a batch download', batchDownload, DOWNLOADS);
  },
};

/** Shares of the time in which the JavaScript thread was not idle, including time in which the scheduler did not run it. */
async function profiled(
  bench: Bench,
  name: string,
  work: Work,
  { inFlight, warmUp, measured, operations }: Times,
): Promise<Result[]> {
  const directory = await bench.place(`profile ${name}`);
  const profiles = join(directory, 'profiles');
  const service = bench.ending(
    await startService(
      directory,
      ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-interval=${EVERY_MICROS}`],
      'src/main.js',
    ),
  );
  const account = await Account.signUp(service.url);
  const [workspaceId = ''] = await account.workspaces(1);
  const client = await account.client();
  await perSecond(CHANGES, REQUESTS.inFlight, () => put(client, workspaceId));
  await perSecond(warmUp, inFlight, () => work(client, workspaceId));
  const from = now();
  await perSecond(measured, inFlight, () => work(client, workspaceId));
  const to = now();
  await service.stop(); // writes the profile on exit
  const { areas, functions } = await readProfile(profiles, [from, to], measured * operations);
  const worthNaming = areas.filter(({ percent }) => percent >= AREA_PERCENT);
  return [
    result(`profile of ${name}, by area`, inFigures(worthNaming)),
    result(`profile of ${name}, functions without what they call`, inFigures(functions.slice(0, FUNCTIONS))),
  ];
}

const now = (): number => Number(process.hrtime.bigint() / 1000n);

const inFigures = (shares: readonly Share[]): Record<string, Figures> =>
  Object.fromEntries(
    shares.map(({ name, percent, microsPerOperation }) => [name, { percent, microsPerOperation }]),
  );
