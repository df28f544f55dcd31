import { BATCH_ITEMS, inBatches } from './batches.js';
import { proven } from './contents.js';
import { DiskError } from './errors.js';
import { vaultName } from './names.js';
import type { Operation } from './operations.js';
import type { DiskPath, Kind } from './ports.js';
import type { Run } from './run.js';
import { nameOf, parentOf } from './trees.js';

type DeleteRemote = Extract<Operation, { kind: 'delete-remote' }>;
type DeleteLocal = Extract<Operation, { kind: 'delete-local' }>;

/** Deletes on the server what was deleted here, unless another device has changed it after this device's cursor. */
export async function pushDeletions(run: Run, operations: readonly DeleteRemote[]): Promise<void> {
  const { remote, cipher } = run.parts;
  for (const batch of inBatches(operations, () => 0)) {
    const gone = new Map<string, DeleteRemote>();
    for (const operation of await stillGone(run, batch)) {
      gone.set(await cipher.encryptPath(operation.path), operation);
    }
    if (gone.size === 0) continue;
    await run.session.check(); // check after listing: a replaced folder means no deletion
    const deletions = Array.from(
      gone,
      ([
        encryptedPath,
        {
          remote: { contentHash, encryptedSize },
        },
      ]) => ({
        encryptedPath,
        contentHash,
        encryptedSize,
      }),
    );
    run.hasActed = true;
    const { accepted } = await remote.push(run.state.cursor ?? 0, deletions);
    for (const encryptedPath of accepted) {
      const operation = gone.get(encryptedPath);
      if (!operation || !gone.delete(encryptedPath)) continue;
      run.state.dropSynced(operation.path);
      run.report.deletedThere.add(operation.path);
    }
    for (const { path } of gone.values()) run.overtaken.add(path); // edits win over deletions
    await run.settle();
  }
}

/** Looks up exact names, top down: a disk that folds case would also find files and directories under new spellings. */
async function stillGone(run: Run, operations: readonly DeleteRemote[]): Promise<DeleteRemote[]> {
  const listed = new Map<string, Promise<Kinds | undefined>>();
  /** undefined: unknown */
  const kindOf = async (path: string): Promise<Kind | 'nothing' | undefined> => {
    const parent = parentOf(path);
    const above = parent === '' ? 'directory' : await kindOf(parent);
    if (above === 'file' || above === 'nothing') return 'nothing';
    if (above !== 'directory') return undefined;
    const kinds = listed.get(parent) ?? kindsIn(run, parentOf(run.diskPath(path)));
    listed.set(parent, kinds);
    const known = await kinds;
    return known && (known.get(nameOf(path)) ?? 'nothing');
  };
  const gone = [];
  for (const operation of operations) {
    const kind = await kindOf(operation.path);
    if (kind === 'nothing' || kind === 'directory') gone.push(operation);
    else run.overtaken.add(operation.path);
  }
  return gone;
}

type Kinds = ReadonlyMap<string, Kind>;

/** Kinds of the entries of a directory, by name in the vault's form; undefined when it cannot be read. */
async function kindsIn(run: Run, directory: DiskPath): Promise<Kinds | undefined> {
  try {
    const entries = await run.parts.disk.list(directory);
    return new Map(entries.map(({ name, shown, stat }) => [vaultName(name ?? shown), stat.kind]));
  } catch (error) {
    if (error instanceof DiskError) return undefined;
    throw error;
  }
}

/** Deletes here what another device has deleted, if the local content is still the synced one. */
export async function deleteFiles(run: Run, operations: readonly DeleteLocal[]): Promise<void> {
  const { disk, clock } = run.parts;
  for (let at = 0; at < operations.length; at += BATCH_ITEMS) {
    for (const operation of operations.slice(at, at + BATCH_ITEMS))
      await run.attempt(operation, async () => {
        const { path, local, synced } = operation;
        const stat = await proven(disk, clock, local.diskPath, local.stat, synced.plainHash);
        if (!stat) throw new DiskError('changed', 'it was edited meanwhile');
        await disk.remove(local.diskPath, stat);
        run.report.removedHere.add(path);
        run.afterFlush([local.diskPath], () => run.state.dropSynced(path));
        await removeEmptyParents(run, local.diskPath);
      });
    await run.settle();
  }
}

export async function removeEmptyParents(run: Run, path: DiskPath): Promise<void> {
  for (let parent = parentOf(path); parent !== ''; parent = parentOf(parent))
    if (!(await run.parts.disk.removeDirectory(parent))) return;
}

/** Removes a directory that contains only directories. */
export async function removeDirectories(
  run: Run,
  operation: Extract<Operation, { kind: 'remove-directory' }>,
): Promise<void> {
  const { path } = operation;
  const below = [...run.local.directories.entries()].filter(([directory]) =>
    directory.startsWith(`${path}/`),
  );
  const innermostFirst = below.sort(([a], [b]) => b.length - a.length).map(([, diskPath]) => diskPath);
  const itself = run.local.directories.get(path) ?? run.diskPath(path);
  for (const directory of [...innermostFirst, itself])
    if (!(await run.parts.disk.removeDirectory(directory))) {
      run.fail(operation, 'a directory with files that are not synced is in the way: move them elsewhere');
      return;
    }
  run.hasActed = true;
}
