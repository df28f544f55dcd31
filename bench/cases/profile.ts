import { join } from 'node:path';
import type { Bench } from '../bench.js';
import { result, type Result } from '../measure/beside.js';
import type { Client } from '../measure/client.js';
import type { Figures } from '../measure/figures.js';
import { perSecond } from '../measure/load.js';
import { readProfile, type Share } from '../measure/profile.js';
import { Account } from '../servers/account.js';
import { startService } from '../servers/service.js';
import type { Case } from './case.js';
import { note } from './note.js';

const IN_FLIGHT = 16;
const CHANGES = 2_000;
const [WARM_UP, REQUESTS] = [2_000, 6_000];
const [AREA_PERCENT, FUNCTIONS] = [0.5, 30];
const EVERY_MICROS = 200;

type Work = (client: Client, workspaceId: string) => Promise<unknown>;

const put: Work = (client, id) => {
  const { path, ...sent } = note(4096);
  return client.send('PUT', `/api/v1/workspaces/${id}/files/${path}`, sent);
};
const pull: Work = (client, id) =>
  client.sendJson('POST', `/api/v1/workspaces/${id}/sync/pull`, { deviceId: 'bench', cursor: 0, limit: 100 });

export const profile: Case = {
  name: 'profile',
  says: 'where the service spends its time during PUT 4 KiB and pull of 100, 16 in flight (only on request)',
  isExtra: true,
  run: async function* (bench) {
    yield* await profiled(bench, 'PUT 4 KiB', put);
    yield* await profiled(bench, 'pull of 100 changes', pull);
  },
};

/**
 * Shares of the time in which the JavaScript thread was not idle; time in which the scheduler did not run it counts
 * too.
 */
async function profiled(bench: Bench, name: string, work: Work): Promise<Result[]> {
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
  await perSecond(CHANGES, IN_FLIGHT, () => put(client, workspaceId));
  await perSecond(WARM_UP, IN_FLIGHT, () => work(client, workspaceId));
  const from = now();
  await perSecond(REQUESTS, IN_FLIGHT, () => work(client, workspaceId));
  const to = now();
  await service.stop(); // it writes the profile on exit
  const { areas, functions } = await readProfile(profiles, [from, to], REQUESTS);
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
