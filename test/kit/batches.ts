import { decodeFirst, encode } from 'cborg';
import type supertest from 'supertest';
import { COMMIT_UPLOADS } from '../../src/domain/files/index.js';
import type { TestDatabase } from './database.js';
import { bytes, sha256, type TestWorkspace } from './workspace.js';

/** An item of an upload as clients encode it; invalid with other keys or values. */
export type SentItem = Readonly<Record<string, unknown>>;

export interface ReceivedItem {
  readonly encryptedPath: string;
  readonly status: number;
  readonly version: number | null;
  readonly contentHash: string | null;
  readonly encryptedSize: number | null;
  readonly content?: Uint8Array;
}

/** An item that uploads a content to a path. */
export const upload = (encryptedPath: string, content: Buffer | string, rest: SentItem = {}): SentItem => ({
  encryptedPath,
  contentHash: sha256(content),
  content: Buffer.from(content),
  ...rest,
});

export const cborSequence = (items: readonly unknown[]): Buffer =>
  Buffer.concat(items.map((item) => encode(item)));

export function itemsIn(sequence: Uint8Array): ReceivedItem[] {
  const items: ReceivedItem[] = [];
  for (let rest = sequence; rest.length > 0;) {
    const [item, remainder] = decodeFirst(rest) as [ReceivedItem, Uint8Array];
    items.push(item);
    rest = remainder;
  }
  return items;
}

export function uploadBatch(
  workspace: TestWorkspace,
  items: readonly SentItem[] | Buffer,
  device = 'laptop',
): supertest.Test {
  return workspace.user
    .post(`${workspace.path}/files/batch-upload`)
    .set('Content-Type', 'application/cbor-seq')
    .set('X-Device-Id', device)
    .send(Buffer.isBuffer(items) ? items : cborSequence(items));
}

export function downloadBatch(
  workspace: TestWorkspace,
  items: readonly { encryptedPath: string; contentHash?: string | null }[],
): supertest.Test {
  return workspace.user
    .post(`${workspace.path}/files/batch-download`)
    .buffer(true)
    .parse(bytes)
    .send({ items });
}

/** The items of a 200 answer. */
export async function downloaded(
  workspace: TestWorkspace,
  paths: readonly string[],
): Promise<ReceivedItem[]> {
  const asked = paths.map((encryptedPath) => ({ encryptedPath }));
  return itemsIn((await downloadBatch(workspace, asked).expect(200)).body as Buffer);
}

/** Items that fill a first group and begin the next one, with more bytes than the reader collects before it parses them. */
export const firstGroup = (): SentItem[] =>
  Array.from({ length: 100 }, (_, i) => upload(`first${i}`, Buffer.alloc(2_000, i)));

/**
 * Starts a batch whose first group is committed. Resolves with a function that sends the rest and returns the answer.
 * @param rest the items after `firstGroup`
 */
export async function begunBatch(
  database: TestDatabase,
  workspace: TestWorkspace,
  rest: readonly SentItem[],
): Promise<() => Promise<supertest.Response>> {
  const [begun, ending] = [cborSequence(firstGroup()), cborSequence(rest)];
  const request = workspace.user
    .post(`${workspace.path}/files/batch-upload`)
    .set({ 'Content-Type': 'application/cbor-seq', 'X-Device-Id': 'laptop' })
    .set('Content-Length', String(begun.length + ending.length))
    .ok(() => true);
  request.write(begun);
  await database.eventually(
    `SELECT FROM workspaces WHERE id = '${workspace.id}' AND head_cursor = ${COMMIT_UPLOADS}`,
  );
  return async () => request.send(ending);
}
