import type { CheckpointKind } from '../workspace/index.js';
import type { Contents } from './contents.js';

/** One step in the new workspace, with paths and labels of the old one. */
export type RotationStep =
  | { readonly do: 'upload'; readonly path: string; readonly versionId: string }
  | { readonly do: 'delete'; readonly path: string }
  | {
      readonly do: 'checkpoint';
      readonly id: string;
      readonly label: string;
      readonly kind: CheckpointKind;
    };

/** All steps of a rotation, in the order in which they happened in the old workspace. */
export interface RotationPlan {
  /** The last change of the old workspace that the plan covers. */
  readonly cursor: number;
  readonly steps: readonly RotationStep[];
}

const PAGE = 1_000;

/**
 * Extends the plan by what has happened in the old workspace since: versions that are still kept, deletions and
 * checkpoints. The order is that of its log, so a checkpoint marks the same state in the new workspace.
 */
export async function extended(plan: RotationPlan, old: Contents): Promise<RotationPlan> {
  const steps = [...plan.steps];
  const planned = new Set(steps.flatMap((step) => (step.do === 'checkpoint' ? [step.id] : [])));
  const versions = new Map<string, Map<number, string>>();
  const alive = new Set<string>();
  for (const step of steps) {
    if (step.do === 'upload') alive.add(step.path);
    if (step.do === 'delete') alive.delete(step.path);
  }

  async function take(cursor: number, limit: number): Promise<number> {
    const page = await old.pull(cursor, limit);
    for (const { encryptedPath: path, action, version } of page.changes) {
      if (action === 'delete') {
        if (alive.delete(path)) steps.push({ do: 'delete', path });
        continue;
      }
      if (!versions.has(path)) {
        const kept = await old.versions(path);
        versions.set(path, new Map(kept.map((one) => [one.version, one.id])));
      }
      const versionId = versions.get(path)?.get(version);
      if (versionId === undefined) continue; // the service has thinned it out
      steps.push({ do: 'upload', path, versionId });
      alive.add(path);
    }
    return page.cursor;
  }

  // Read the head first: a checkpoint that is created after this listing marks that state or a later one.
  const head = await old.head();
  const checkpoints = (await old.checkpoints()).filter(
    ({ id, cursor }) => !planned.has(id) && cursor <= head,
  );
  let { cursor } = plan;
  for (const { id, encryptedLabel: label, kind, cursor: marked } of checkpoints) {
    while (cursor < marked) cursor = await take(cursor, Math.min(PAGE, marked - cursor));
    steps.push({ do: 'checkpoint', id, label, kind });
  }
  while (cursor < head) cursor = await take(cursor, Math.min(PAGE, head - cursor));
  return { cursor, steps };
}

/**
 * The number of completed steps, derived from the new workspace: each upload and deletion is one change there, in this
 * order. So progress needs no record that a crash could separate from its step.
 * @throws when the new workspace contains anything else
 */
export async function doneSteps(
  { steps }: RotationPlan,
  fresh: Contents,
  pathOf: (path: string) => string,
): Promise<number> {
  const changes = [];
  for (let cursor = 0, hasMore = true; hasMore;) {
    const page = await fresh.pull(cursor, PAGE);
    changes.push(...page.changes);
    ({ cursor, hasMore } = page);
  }
  const marks = (await fresh.checkpoints()).length;
  let [seen, marked, done] = [0, 0, 0];
  for (const step of steps) {
    if (step.do === 'checkpoint') {
      if (marked === marks) break;
      marked++;
    } else {
      const change = changes[seen];
      if (!change) break;
      const isIt =
        change.encryptedPath === pathOf(step.path) && (change.action === 'delete') === (step.do === 'delete');
      if (!isIt) break;
      seen++;
    }
    done++;
  }
  if (seen < changes.length || marked < marks)
    throw new Error(
      'something else has written to the new workspace: delete it, and begin the rotation again',
    );
  return done;
}
