import { decodeFirst, encode } from 'cborg';
import { put } from './files.js';
import { type Answer, answered, type Of, type Rule } from './operations.js';
import { liveFileAt, newest, workspaceIn } from './state.js';
import { hashOf, sizeOf } from './words.js';

/** An item of a batch upload, which has the effect of a PUT. */
export interface BatchItem {
  readonly path: string;
  readonly content: string;
  /** The content that the live head must have; `*`: any. */
  readonly ifMatch: string | null;
  readonly ifAbsent: boolean;
  /** Whether the hash is not that of the content. */
  readonly isMislabelled: boolean;
}

export interface WantedItem {
  readonly path: string;
  /** The content that the client has already. */
  readonly has: string | null;
}

interface Uploaded {
  readonly id: string;
  readonly version: number;
  readonly contentHash: string;
}

const NONE = { id: null, version: null, contentHash: null };

/** PUTs in order; a path that occurs again is a conflict. */
export const uploadBatch: Rule<'batch upload'> = (state, operation, moment) => {
  const { items, ...rest } = operation;
  const workspace = workspaceIn(state, operation.workspace);
  const before = workspace.log.length;
  const results = items.map((item, index) => {
    const { path } = item;
    const isRepeated = items.slice(0, index).some((earlier) => earlier.path === path);
    if (isRepeated && !item.isMislabelled) return { encryptedPath: path, status: 409, ...NONE };
    const ifMatch = item.ifMatch === null ? null : [item.ifMatch];
    const born = moment.born + index / items.length; // ids are drawn in order
    const { status, body } = put(state, { ...rest, ...item, kind: 'put', ifMatch }, { ...moment, born });
    if (status >= 400) return { encryptedPath: path, status, ...NONE };
    const { id, version, contentHash } = body as Uploaded;
    return { encryptedPath: path, status, id, version, contentHash };
  });
  const hasChanged = workspace.log.length > before;
  return answered({ cursor: workspace.log.length, hasChanged, results });
};

export const downloadBatch: Rule<'batch download'> = (state, { workspace: name, items }) => {
  const workspace = workspaceIn(state, name);
  const received = items.map(({ path, has }) => {
    const file = liveFileAt(workspace, path);
    if (!file)
      return { encryptedPath: path, status: 404, version: null, contentHash: null, encryptedSize: null };
    const { version, content } = newest(file);
    const contentHash = hashOf(content);
    const head = { encryptedPath: path, version, contentHash, encryptedSize: sizeOf(content) };
    return has === content ? { ...head, status: 304 } : { ...head, status: 200, content };
  });
  return answered(received);
};

/**
 * Whether the service may have answered this. The cursor of a batch without a change is read afterwards,
 * when the log may have changes of operations that were sent together with it.
 * @param head of the workspace when all of these are done
 */
export function isAnswerToBatch(expected: Answer, { status, body }: Answer, head: number): boolean {
  const { hasChanged, ...rest } = expected.body as { hasChanged: boolean; cursor: number; results: unknown };
  const { cursor, results } = body as { cursor: number; results: unknown };
  const isCursor = hasChanged ? cursor === rest.cursor : cursor >= rest.cursor && cursor <= head;
  return status === expected.status && isCursor && JSON.stringify(results) === JSON.stringify(rest.results);
}

/** The body of a batch upload. */
export const sequenceOf = ({ items }: Of<'batch upload'>): Buffer =>
  Buffer.concat(
    items.map(({ path, content, ifMatch, ifAbsent, isMislabelled }) =>
      encode({
        encryptedPath: path,
        contentHash: hashOf(isMislabelled ? `not ${content}` : content),
        content: Buffer.from(content, 'latin1'),
        ...(ifMatch === null ? {} : { ifMatch: ifMatch === '*' ? '*' : hashOf(ifMatch) }),
        ...(ifAbsent ? { ifNoneMatch: '*' } : {}),
      }),
    ),
  );

/** The items of a batch download. */
export function itemsIn(body: Buffer): unknown[] {
  const items: unknown[] = [];
  for (let rest: Uint8Array = body; rest.length > 0;) {
    const [item, remainder] = decodeFirst(rest) as [{ content?: Uint8Array }, Uint8Array];
    const { content, ...head } = item;
    items.push(content ? { ...head, content: Buffer.from(content).toString('latin1') } : head);
    rest = remainder;
  }
  return items;
}

/** The results of a batch upload. Only an error has a text. */
export function resultsIn(results: readonly { status: number; error?: unknown }[]): object[] {
  return results.map((result) => {
    const { error, ...rest } = result;
    const isTold = rest.status < 400 ? error === undefined : typeof error === 'string' && error !== '';
    return isTold ? rest : result;
  });
}
