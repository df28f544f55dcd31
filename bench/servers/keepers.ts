import { randomUUID } from 'node:crypto';
import type { Bench } from '../bench.js';
import type { Note } from '../cases/note.js';
import { perSecond } from '../measure/load.js';
import { actual } from './actual.js';
import { type Batching, downloadBatches, snapshotPage, uploadBatches } from './batches.js';
import { nginx } from './nginx.js';
import { pouchdb } from './pouchdb.js';
import { type Bare, bareTarget, serviceTarget, type Target } from './target.js';

/** A server to which one device uploads its notes and from which another one downloads them. */
export interface Keeper {
  readonly name: string;
  readonly pids: () => number[] | Promise<number[]>;
  readonly emptyPlace: () => Promise<Place>;
}

export interface Place {
  put(note: Note): Promise<unknown>;
  /** Fetches everything, like a new device; returns the number of bytes. */
  fetchAll(notes: readonly Note[], inFlight: number): Promise<number>;
  /** Both in as few requests as suit the server; missing when it only handles single notes. */
  readonly bulk?: Bulk;
}

export interface Bulk {
  putAll(notes: readonly Note[]): Promise<unknown>;
  fetchAll(notes: readonly Note[]): Promise<number>;
}

/** The fastest on one machine. */
const BATCHING = { up: { items: 250, inFlight: 4 }, down: { items: 250, inFlight: 2 } };

/** All servers that are available here, the service first, and the reasons why others are missing. */
export async function keepers(bench: Bench): Promise<{ present: Keeper[]; absent: string[] }> {
  const bare = [await bareKeeper(bench, 'no blob, token checked'), await bareKeeper(bench, 'no blob')];
  const present = [await serviceKeeper(bench, await serviceTarget(bench), BATCHING), ...bare];
  const absent: string[] = [];
  for (const make of [nginx, pouchdb, actual]) {
    try {
      present.push(await make(bench));
    } catch (error) {
      absent.push(`skipped: ${make.name}, ${(error as Error).message.split('\n')[0]}`);
    }
  }
  return { present, absent };
}

/** The second device first requests the list of files, then fetches each file. */
export async function serviceKeeper(
  bench: Bench,
  target: Target,
  batching: { readonly up: Batching; readonly down: Batching },
): Promise<Keeper> {
  const account = await bench.account();
  return {
    ...target,
    emptyPlace: async () => {
      const [id = ''] = await account.workspaces(1);
      return {
        ...placeAt(target, id),
        fetchAll: (_, inFlight) => walkAndFetch(target, id, inFlight),
        bulk: {
          putAll: (notes) => uploadBatches(target.client, id, notes, batching.up),
          fetchAll: () => downloadBatches(target.client, id, batching.down),
        },
      };
    },
  };
}

async function bareKeeper(bench: Bench, kind: Bare): Promise<Keeper> {
  const target = await bareTarget(bench, kind);
  return { ...target, emptyPlace: () => Promise.resolve(placeAt(target, randomUUID())) };
}

function placeAt({ client, pathTo }: Target, id: string): Place {
  return {
    put: ({ path, ...sent }) => client.send('PUT', pathTo(id, path), sent),
    fetchAll: (notes, inFlight) =>
      fetchEach(notes, inFlight, async ({ path }) => (await client.send('GET', pathTo(id, path))).length),
  };
}

async function walkAndFetch({ client, pathTo }: Target, id: string, inFlight: number): Promise<number> {
  const files: { encryptedPath: string }[] = [];
  for (let from: string | null = ''; from !== null;) {
    const page = await snapshotPage(client, id, from);
    files.push(...page.files);
    from = page.nextPageCursor;
  }
  return fetchEach(
    files,
    inFlight,
    async (file) => (await client.send('GET', pathTo(id, file.encryptedPath))).length,
  );
}

/** The sum of the results of fetching each item. */
export async function fetchEach<T>(
  items: readonly T[],
  inFlight: number,
  fetch: (item: T) => Promise<number>,
): Promise<number> {
  let bytes = 0;
  await perSecond(items.length, inFlight, async (i) => {
    const its = await fetch(items[i] as T);
    bytes += its;
  });
  return bytes;
}
