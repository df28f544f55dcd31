import type { Note } from '../cases/note.js';
import type { Client } from '../measure/client.js';
import { perSecond } from '../measure/load.js';

/** How a device syncs in batches: items per request, and requests in flight. */
export interface Batching {
  readonly items: number;
  readonly inFlight: number;
}

/** Uploads notes to a workspace of the service in batches. @throws when an item was not created */
export async function uploadBatches(
  client: Client,
  workspaceId: string,
  notes: readonly Note[],
  { items, inFlight }: Batching,
): Promise<void> {
  const path = `/api/v1/workspaces/${workspaceId}/files/batch-upload`;
  const headers = { 'content-type': 'application/cbor-seq', 'x-device-id': 'bench' };
  const batches = inParts(notes, items);
  await perSecond(batches.length, inFlight, async (i) => {
    const batch = batches[i] ?? [];
    const answer = await client.send('POST', path, { headers, body: cborSequence(batch) });
    const { results } = JSON.parse(String(answer)) as { results: { status: number }[] };
    const created = results.filter(({ status }) => status === 201).length;
    if (created !== batch.length) throw new Error(`only ${created} of ${batch.length} items were created`);
  });
}

/**
 * Downloads a workspace of the service in batches, like a new device: fetches the files of a snapshot page while it reads
 * the next page. Returns the bytes of the answers.
 */
export async function downloadBatches(
  client: Client,
  workspaceId: string,
  { items, inFlight }: Batching,
): Promise<number> {
  const path = `/api/v1/workspaces/${workspaceId}`;
  const headers = { 'content-type': 'application/json' };
  const room = new Room(inFlight);
  let bytes = 0;
  for (let from: string | null = ''; from !== null;) {
    const page = await snapshotPage(client, workspaceId, from);
    for (const batch of inParts(page.files, items)) {
      const body = Buffer.from(
        JSON.stringify({ items: batch.map(({ encryptedPath }) => ({ encryptedPath })) }),
      );
      await room.start(async () => {
        const answer = await client.send('POST', `${path}/files/batch-download`, { headers, body });
        bytes += answer.length;
      });
    }
    from = page.nextPageCursor;
  }
  await room.empty();
  return bytes;
}

interface SnapshotPage {
  readonly files: { readonly encryptedPath: string }[];
  readonly nextPageCursor: string | null;
}

/** @param from the cursor of the page, or an empty string for the first one */
export async function snapshotPage(client: Client, workspaceId: string, from: string): Promise<SnapshotPage> {
  const path = `/api/v1/workspaces/${workspaceId}/sync/snapshot?limit=1000&pageCursor=${from}`;
  return JSON.parse(String(await client.send('GET', path))) as SnapshotPage;
}

export function inParts<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** Limits the number of concurrent operations. */
class Room {
  private readonly active = new Set<Promise<void>>();

  constructor(private readonly atOnce: number) {}

  /** Resolves when the operation has started. @throws the errors of earlier ones */
  async start(work: () => Promise<void>): Promise<void> {
    while (this.active.size >= this.atOnce) await Promise.race(this.active);
    const operation = work();
    this.active.add(operation);
    void operation.then(
      () => this.active.delete(operation),
      () => undefined, // thrown by the next `start` or by `empty`
    );
  }

  async empty(): Promise<void> {
    await Promise.all(this.active);
  }
}

const BYTES = 2;
const TEXT = 3;
/** A map of three pairs. */
const MAP_OF_3 = Buffer.from([0xa3]);
const KEYS = { path: textOf('encryptedPath'), hash: textOf('contentHash'), content: textOf('content') };

/** A CBOR sequence, encoded by hand: a library would cost the client more than the rest of a request. */
function cborSequence(notes: readonly Note[]): Buffer {
  return Buffer.concat(
    notes.flatMap(({ path, headers, body }) => [
      MAP_OF_3,
      KEYS.path,
      textOf(path),
      KEYS.hash,
      textOf(headers['x-content-hash'] ?? ''),
      KEYS.content,
      head(BYTES, body.length),
      body,
    ]),
  );
}

function textOf(text: string): Buffer {
  return Buffer.concat([head(TEXT, text.length), Buffer.from(text)]);
}

/** The head of a CBOR item: its type and length. */
function head(major: number, length: number): Buffer {
  const type = major << 5;
  if (length < 24) return Buffer.from([type | length]);
  if (length < 0x100) return Buffer.from([type | 24, length]);
  if (length < 0x10000) return Buffer.from([type | 25, length >> 8, length & 0xff]);
  return Buffer.from([type | 26, length >>> 24, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff]);
}
