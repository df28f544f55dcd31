import type { Bench } from '../bench.js';
import { type Contestant, measureBeside, WARM_UP_MS } from '../measure/beside.js';
import type { Figures } from '../measure/figures.js';
import { perSecond } from '../measure/load.js';
import { spentOn, sum } from '../measure/processes.js';
import { Account } from '../servers/account.js';
import { type Tenant, type TenantsTarget, tenantsTargets } from '../servers/tenants.js';
import type { Case } from './case.js';
import { note } from './note.js';

const SIZE = 4096;
const UPLOADS = 2_000;
const IN_FLIGHT = 16;
const [ACCOUNTS, WORKSPACES_EACH] = [20, 10];

export const tenants: Case = {
  name: 'tenants',
  says: `PUT 4 KiB, ${IN_FLIGHT} in flight, to ${ACCOUNTS * WORKSPACES_EACH} workspaces of ${ACCOUNTS} accounts, compared with the bare server that checks tokens and with the SQL alone`,
  run: async function* (bench) {
    const all = await signedUp(bench);
    const targets = await tenantsTargets(bench, all);
    const name = `PUT 4 KiB, ${IN_FLIGHT} in flight, ${all.length} workspaces of ${ACCOUNTS} accounts`;
    const contestants = targets.map((target): Contestant => ({
      name: target.name,
      run: () => uploadsTo(target, all),
    }));
    yield await measureBeside(name, contestants, { warmUpMs: WARM_UP_MS });
  },
};

/** The workspaces in an order in which neighbours belong to different accounts. */
async function signedUp(bench: Bench): Promise<Tenant[]> {
  const { url } = await bench.service();
  const accounts: Account[] = [];
  while (accounts.length < ACCOUNTS) accounts.push(await Account.signUp(url)); // few may sign up at once
  const workspaces = await Promise.all(accounts.map((account) => account.workspaces(WORKSPACES_EACH)));
  return Array.from({ length: WORKSPACES_EACH }, (_, i) =>
    accounts.map((account, at): Tenant => ({ account, workspaceId: workspaces[at]?.[i] ?? '' })),
  ).flat();
}

async function uploadsTo({ pid, pids, put }: TenantsTarget, all: readonly Tenant[]): Promise<Figures> {
  const notes = Array.from({ length: UPLOADS }, () => note(SIZE));
  let rate = 0;
  const spent = await spentOn(pids, async () => {
    rate = await perSecond(UPLOADS, IN_FLIGHT, (i) =>
      put(all[i % all.length] as Tenant, notes[i] ?? note(SIZE)),
    );
  });
  const total = sum(spent.values());
  const ofPostgres = total - (spent.get(pid) ?? 0);
  return { perSecond: rate, cpuMicros: total / UPLOADS, ofThatPostgres: ofPostgres / UPLOADS };
}
