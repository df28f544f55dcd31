import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Bench } from '../bench.js';
import { type Contestant, measureBeside } from '../measure/beside.js';
import { type Figures, quantile } from '../measure/figures.js';
import { hangUp, listen } from '../servers/listener.js';
import { bareTarget, serviceTarget, type Target } from '../servers/target.js';
import type { Case } from './case.js';
import { note } from './note.js';

const EDITS = 300;
const SIZE = 2560;

export const arrival: Case = {
  name: 'arrival',
  says: 'from an edit to its message at a second device, compared with a bare server that broadcasts over ws',
  run: async function* (bench) {
    const targets = [await serviceTarget(bench), await bareTarget(bench, 'no blob')];
    const contestants = targets.map((target): Contestant => ({
      name: target.name,
      run: () => edits(bench, target),
    }));
    yield await measureBeside(`edit of ${SIZE} bytes to the second device, one at a time`, contestants);
  },
};

async function edits(bench: Bench, target: Target): Promise<Figures> {
  const [workspaceId = ''] =
    target.name === 'service' ? await (await bench.account()).workspaces(1) : [randomUUID()];
  const socket = await listen(bench, target, workspaceId);
  const [puts, arrivals]: [number[], number[]] = [[], []];
  for (let edit = 0; edit < EDITS; edit++) {
    const { path, ...sent } = note(SIZE);
    const arrived = once(socket, 'message').then(() => performance.now());
    const started = performance.now();
    await target.client.send('PUT', target.pathTo(workspaceId, path), sent);
    puts.push(performance.now() - started);
    arrivals.push((await arrived) - started);
  }
  await hangUp([socket]);
  return {
    arrivalP50Ms: quantile(arrivals, 0.5),
    arrivalP99Ms: quantile(arrivals, 0.99),
    putP50Ms: quantile(puts, 0.5),
    putP99Ms: quantile(puts, 0.99),
  };
}
