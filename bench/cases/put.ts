import type { Bench } from '../bench.js';
import { type Contestant, measureBeside, type Result, WARM_UP_MS } from '../measure/beside.js';
import type { Figures } from '../measure/figures.js';
import { perSecond } from '../measure/load.js';
import { spentOn, sum } from '../measure/processes.js';
import { bareTarget, serviceTarget, type Target } from '../servers/target.js';
import type { Case } from './case.js';
import { note } from './note.js';

const SIZE = 4096;
const UPLOADS = 2_000;
const IN_FLIGHT = 16;
const WORKSPACES = [1, 200];

export const put: Case = {
  name: 'put',
  says: `PUT 4 KiB, ${IN_FLIGHT} in flight, to one workspace and to 200, compared with a bare server with one file per blob and without blobs`,
  run: async function* (bench) {
    const targets = [
      await serviceTarget(bench),
      await bareTarget(bench, 'a file each'),
      await bareTarget(bench, 'no blob, token checked'),
      await bareTarget(bench, 'no blob'),
    ];
    for (const count of WORKSPACES) yield await uploads(bench, targets, count);
  },
};

async function uploads(bench: Bench, targets: Target[], count: number): Promise<Result> {
  const workspaces = await (await bench.account()).workspaces(count);
  const name = `PUT 4 KiB, ${IN_FLIGHT} in flight, ${count === 1 ? 'one workspace' : `${count} workspaces`}`;
  const contestants = targets.map((target): Contestant => ({
    name: target.name,
    run: () => uploadsTo(target, workspaces),
  }));
  return measureBeside(name, contestants, { warmUpMs: WARM_UP_MS });
}

async function uploadsTo(target: Target, workspaces: string[]): Promise<Figures> {
  const notes = Array.from({ length: UPLOADS }, () => note(SIZE));
  let rate = 0;
  const spent = await spentOn(target.pids, async () => {
    rate = await perSecond(UPLOADS, IN_FLIGHT, (i) => {
      const { path, ...sent } = notes[i] ?? note(SIZE);
      return target.client.send('PUT', target.pathTo(workspaces[i % workspaces.length] ?? '', path), sent);
    });
  });
  const total = sum(spent.values());
  const ofPostgres = total - (spent.get(target.pid) ?? 0);
  return { perSecond: rate, cpuMicros: total / UPLOADS, ofThatPostgres: ofPostgres / UPLOADS };
}
