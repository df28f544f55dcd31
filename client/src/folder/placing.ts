import { hashOf, proven } from './contents.js';
import { DiskError, type DoesNotOpen } from './errors.js';
import { moveAside } from './move-aside.js';
import type { Operation } from './operations.js';
import type { DiskPath, Staged, Stat } from './ports.js';
import type { Run } from './run.js';
import { seen } from './sending.js';

export type Fetching = Extract<Operation, { kind: 'download' | 'merge' }>;

/** A verified content from the server. */
export interface Fetched {
  readonly plainHash: string;
  readonly stage: () => Promise<Staged>;
}

export const doesNotOpen = ({ message }: DoesNotOpen): string =>
  `${message}: restore an earlier version, or delete it on the server`;

/** Puts a content into the folder, in place of exactly what the plan saw. */
export async function take(run: Run, operation: Fetching, content: Fetched): Promise<void> {
  if (operation.kind === 'merge') return merge(run, operation, content);
  const { path, replaces } = operation;
  if (!replaces) return place(run, operation, content, run.diskPath(path), undefined);
  const { disk, clock } = run.parts;
  const known = run.state.synced.get(path)?.plainHash ?? '';
  const stat = await proven(disk, clock, replaces.diskPath, replaces.stat, known);
  if (!stat) throw new DiskError('changed', 'it was edited meanwhile');
  return place(run, operation, content, replaces.diskPath, stat);
}

/** Records equal contents. Otherwise the server's content keeps the name, and the local one is renamed. */
async function merge(
  run: Run,
  operation: Extract<Operation, { kind: 'merge' }>,
  { plainHash, stage }: Fetched,
): Promise<void> {
  const { disk, clock } = run.parts;
  const { path, local, remote } = operation;
  const { contentHash, version } = remote;
  const looked = await hashOf(disk, clock, local.diskPath, local.stat);
  if (looked.hash === plainHash) {
    run.state.setSynced(path, { plainHash, contentHash, version, ...seen(looked) });
    return;
  }
  const staged = await stage(); // before the name becomes free: a full disk changes nothing
  try {
    const aside = await moveAside(run, path, local, `conflict from ${run.options.device}`);
    const stat = await disk.place(staged, local.diskPath, undefined, aside);
    remember(run, operation, plainHash, local.diskPath, stat);
  } catch (error) {
    await disk.discard(staged);
    throw error;
  }
}

async function place(
  run: Run,
  operation: Fetching,
  { plainHash, stage }: Fetched,
  to: DiskPath,
  expected: Stat | undefined,
): Promise<void> {
  const { disk } = run.parts;
  const staged = await stage();
  try {
    remember(run, operation, plainHash, to, await disk.place(staged, to, expected));
  } catch (error) {
    await disk.discard(staged);
    throw error;
  }
}

function remember(run: Run, { path, remote }: Fetching, plainHash: string, to: DiskPath, stat: Stat): void {
  const { contentHash, version } = remote;
  run.report.downloaded.add(path);
  // Written just now: its time proves nothing yet, so the next scan compares the content.
  run.afterFlush([to], () =>
    run.state.setSynced(path, { plainHash, contentHash, version, size: stat.size, stat: undefined }),
  );
}
