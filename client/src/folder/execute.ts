import { deleteFiles, pushDeletions, removeDirectories } from './deletions.js';
import { fetchFiles } from './downloads.js';
import { moveAside } from './move-aside.js';
import type { Operation, OperationKind } from './operations.js';
import type { Run } from './run.js';
import { sendFiles } from './uploads.js';

type Of<K extends OperationKind> = Extract<Operation, { kind: K }>;

/** Operations that only correct the state. */
const RECORDS: readonly OperationKind[] = ['adopt', 'forget'];

/** Whether folder or server need to be changed. */
export const needsWork = (operations: readonly Operation[]): boolean =>
  operations.some(({ kind }) => !RECORDS.includes(kind));

/** Carries out a plan in the order of its kinds. */
export async function execute(run: Run, operations: readonly Operation[]): Promise<void> {
  const of = <K extends OperationKind>(...kinds: K[]): Of<K>[] =>
    operations.filter((operation): operation is Of<K> => (kinds as OperationKind[]).includes(operation.kind));

  for (const { path, entry } of of('adopt')) run.state.setSynced(path, entry);
  for (const { path } of of('forget')) run.state.dropSynced(path);
  for (const operation of of('move-aside'))
    await run.attempt(operation, async () => {
      await moveAside(run, operation.path, operation.local, 'conflict');
    });
  await run.settle();
  await sendFiles(run, of('upload'));
  await pushDeletions(run, of('delete-remote'));
  await deleteFiles(run, of('delete-local'));
  for (const operation of of('remove-directory'))
    await run.attempt(operation, () => removeDirectories(run, operation));
  await fetchFiles(run, of('download', 'merge'));
}
