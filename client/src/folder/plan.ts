import { decide, type LeftOut } from './decide.js';
import { makeRoom } from './make-room.js';
import { diskProblem, type Traits } from './names.js';
import { Twins } from './twins.js';
import { inOrder, type Operation, type Plan } from './operations.js';
import {
  type HeldBack,
  isWithin,
  type LocalTree,
  parentsOf,
  type RemoteTree,
  type SyncedEntry,
  type SyncedTree,
} from './trees.js';

/** Bytes that an envelope adds to its content. */
export const ENVELOPE_OVERHEAD = 61;

export interface PlanOptions {
  readonly traits: Traits;
  /** Largest content that is sent or fetched. */
  readonly maxFileBytes: number;
  /** Why a path is excluded; undefined when it is synced. */
  readonly leftOut: (path: string) => LeftOut | undefined;
}

/** The operations that make folder and server agree. Pure: the same trees give the same plan. */
export function plan(local: LocalTree, remote: RemoteTree, synced: SyncedTree, options: PlanOptions): Plan {
  const heldBack: HeldBack[] = [];
  const operations: Operation[] = [];
  const twins = new Twins(local, options.traits);
  for (const path of allPaths(local, remote, synced)) {
    const left = options.leftOut(path);
    if (left) {
      if (synced.has(path)) operations.push({ kind: 'forget', path });
      if (left.told && (remote.has(path) || local.files.has(path)))
        heldBack.push({ path, reason: left.reason });
      continue;
    }
    const problem = localProblem(path, local);
    if (problem !== undefined) {
      heldBack.push({ path, reason: problem });
      continue;
    }
    const operation = decide(path, local.files.get(path), remote.get(path), synced.get(path));
    if (!operation) continue;
    const reason = whyNot(operation, twins, { local, synced }, options);
    if (reason === undefined) operations.push(operation);
    else heldBack.push({ path, reason });
  }
  const room = makeRoom(operations, local, options.traits);
  return {
    operations: inOrder(room.operations),
    heldBack: [...heldBack, ...room.heldBack, ...unsyncable(local, remote, synced)],
    waiting: room.waiting,
  };
}

function allPaths(local: LocalTree, remote: RemoteTree, synced: SyncedTree): Iterable<string> {
  const paths = new Set(local.files.keys());
  for (const path of remote.keys()) paths.add(path);
  for (const path of synced.keys()) paths.add(path);
  return paths;
}

/** An entry that cannot be read or synced is neither an edit nor a deletion; the same goes for everything below it. */
function localProblem(path: string, local: LocalTree): string | undefined {
  if (local.unreadable.size > 0 && isWithin(path, local.unreadable)) {
    const place = ['', ...parentsOf(path), path].find((parent) => local.unreadable.has(parent));
    return local.unreadable.get(place ?? '');
  }
  if (local.heldBack.size === 0 || local.files.has(path)) return undefined;
  const place = [...parentsOf(path), path].find((parent) => local.heldBack.has(parent));
  return place === undefined ? undefined : local.heldBack.get(place);
}

/** Also reports entries on the disk that no other tree has. */
function unsyncable(local: LocalTree, remote: RemoteTree, synced: SyncedTree): HeldBack[] {
  const told = [...local.heldBack, ...local.unreadable].map(([path, reason]) => ({ path, reason }));
  return told.filter(({ path }) => !remote.has(path) && !synced.has(path));
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

function whyNot(
  operation: Operation,
  twins: Twins,
  { local, synced }: { readonly local: LocalTree; readonly synced: SyncedTree },
  { traits, maxFileBytes }: PlanOptions,
): string | undefined {
  const tooLarge = `larger than the limit of ${megabytes(maxFileBytes)}: raise the limit, or leave it out by an ignore rule`;
  if ('local' in operation && operation.kind !== 'delete-local' && operation.local.stat.size > maxFileBytes)
    return tooLarge;
  if (operation.kind === 'download' || operation.kind === 'merge') {
    if (operation.remote.encryptedSize - ENVELOPE_OVERHEAD > maxFileBytes) return tooLarge;
    return operation.kind === 'download' && !operation.replaces
      ? diskProblem(traits, operation.path)
      : undefined;
  }
  // The disk cannot store the name, so the file was not deleted: folder and state were copied to this disk.
  const problem = operation.kind === 'delete-remote' ? diskProblem(traits, operation.path) : undefined;
  if (problem !== undefined) return problem;
  // When two files are copied to a disk that treats their names as one, one is missing but was not deleted. After a rename
  // that only changes case, the new spelling was never synced. Unsyncable entries are never such a rename.
  const found = operation.kind === 'delete-remote' ? twins.of(operation.path) : [];
  const twin = found.find((path) => local.heldBack.has(path) || isKnown(synced, path));
  if (twin !== undefined) return `this disk takes its name for that of ${twin}: rename one of the two`;
  return undefined;
}

/** Whether the path, or a file below it, was synced. */
const isKnown = (synced: SyncedTree, path: string): boolean =>
  synced.has(path) || [...synced.keys()].some((known) => known.startsWith(`${path}/`));

export type Direction = 'here' | 'on the server';

/** Unusually many deletions at once. */
export interface MassDeletion {
  readonly direction: Direction;
  readonly paths: readonly string[];
  readonly of: number;
}

const MANY = 20;

/** Deletions in one direction that need confirmation: more than 20, and more than a quarter of the synced files. */
export function massDeletions(
  { operations }: Plan,
  synced: ReadonlyMap<string, SyncedEntry>,
): MassDeletion[] {
  const sides = [
    ['here', 'delete-local'],
    ['on the server', 'delete-remote'],
  ] as const;
  return sides.flatMap(([direction, kind]) => {
    const paths = operations.filter((operation) => operation.kind === kind).map(({ path }) => path);
    return massDeletion(direction, paths, synced.size) ?? [];
  });
}

/** @param of number of synced files @returns undefined when no confirmation is needed */
export function massDeletion(
  direction: Direction,
  paths: readonly string[],
  of: number,
): MassDeletion | undefined {
  return paths.length > MANY && paths.length * 4 > of ? { direction, paths, of } : undefined;
}
