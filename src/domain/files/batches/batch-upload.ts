import { Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { WorkspaceAccess, WorkspaceClosed, type WorkspaceRef } from '../../../access/index.js';
import { Configuration } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import {
  ApiError,
  BadRequest,
  Conflict,
  PayloadTooLarge,
  type Place,
  placesOf,
  refuseUnknownMembers,
  type WorkSlot,
} from '../../../platform/http/index.js';
import { FairSemaphore, Queues } from '../../../platform/limits/index.js';
import { FreeSpace } from '../../../platform/storage/index.js';
import {
  COMMIT_BYTES,
  COMMIT_UPLOADS,
  CONTENT_HASH,
  ENCRYPTED_PATH,
  ENCRYPTED_PATH_RULE,
  Files,
  type Precondition,
  type Upload,
  type Uploaded,
} from '../index.js';
import { batchStatements } from './batch-download.js';
import { type CborMap, cborMaps, contentIn, MAX_CONTENT_BYTES } from './cbor-maps.js';

/** An item of a batch of uploads: what a PUT has in its path, headers and body. */
export interface UploadItem extends Pick<Upload, 'encryptedPath' | 'contentHash' | 'precondition'> {
  readonly content: Buffer;
}

/** The path of an item, which identifies its result; null when it is missing or invalid. */
export function pathIn(map: CborMap): string | null {
  const path = map.get('encryptedPath');
  return typeof path === 'string' && ENCRYPTED_PATH.test(path) ? path : null;
}

const MEMBERS = ['encryptedPath', 'contentHash', 'content', 'ifMatch', 'ifNoneMatch'];

/**
 * A misspelt condition would be an upload without one, so other members are refused.
 * @throws BadRequest for an item that is refused alone
 */
export function uploadItemOf(map: CborMap): UploadItem {
  refuseUnknownMembers(map.keys(), MEMBERS);
  const encryptedPath = pathIn(map);
  if (encryptedPath === null) throw new BadRequest(`encryptedPath ${ENCRYPTED_PATH_RULE}`);
  const contentHash = map.get('contentHash');
  if (typeof contentHash !== 'string' || !CONTENT_HASH.test(contentHash))
    throw new BadRequest('contentHash must be the SHA-256 of the content in 64 hex characters');
  if (!(map.get('content') instanceof Uint8Array)) throw new BadRequest('content must be a byte string');
  const precondition = preconditionIn(map);
  const content = contentIn(map);
  if (contentHash.toLowerCase() !== hash('sha256', content))
    throw new BadRequest('contentHash does not match the content');
  return { encryptedPath, contentHash: contentHash.toLowerCase(), content, precondition };
}

function preconditionIn(map: CborMap): Precondition {
  const ifMatch = map.get('ifMatch') ?? null;
  if (ifMatch !== null && !(typeof ifMatch === 'string' && (ifMatch === '*' || CONTENT_HASH.test(ifMatch))))
    throw new BadRequest('ifMatch must be a content hash or *');
  const ifNoneMatch = map.get('ifNoneMatch') ?? null;
  if (ifNoneMatch !== null && ifNoneMatch !== '*') throw new BadRequest('ifNoneMatch must be *');
  return { ifMatch: ifMatch === null ? null : [ifMatch.toLowerCase()], ifAbsent: ifNoneMatch !== null };
}

export const MAX_ITEMS = 1_000;
export const MAX_BATCH_BYTES = 32 * 1024 * 1024;

export interface UploadResult {
  /** Null when the item has no valid path. */
  readonly encryptedPath: string | null;
  /** The status that a PUT would have returned. */
  readonly status: number;
  readonly id: string | null;
  readonly version: number | null;
  readonly contentHash: string | null;
  readonly error?: string;
}

export interface BatchUploaded {
  /** Cursor of the last change that the batch made; the head of the log when it made none. */
  readonly cursor: number;
  /** In the order of the items. */
  readonly results: readonly UploadResult[];
}

/** A group with at least this many bytes of content is written before the next one is read. */
const MOST_BESIDE_NEXT = 512 * 1024;

/** An item for the write model, and the index of its result. */
interface Placed {
  readonly place: number;
  readonly item: UploadItem;
}

export interface BatchUpload {
  readonly workspace: WorkspaceRef;
  readonly deviceId: string;
  /** Called before each group of items is written. @throws when the caller may not write any more */
  readonly beforeGroup: (items: number) => Promise<void>;
  /** Held while the body arrives and while a group is written. */
  readonly slot: WorkSlot;
}

/**
 * Uploads of many files in one request. Items are committed in groups; the next group arrives meanwhile unless the group is
 * large.
 */
@Injectable()
export class BatchUploads {
  /** No item may be larger than a PUT. */
  private readonly mostOfItem: number;

  constructor(
    private readonly files: Files,
    private readonly space: FreeSpace,
    private readonly database: Database,
    private readonly workspaceAccess: WorkspaceAccess,
    { maxFileBytes }: Configuration,
  ) {
    this.mostOfItem = Math.min(MAX_CONTENT_BYTES, maxFileBytes);
  }

  /**
   * Decides each item as a PUT would. When this throws, the groups that were committed stay, and the client can send the whole
   * batch again.
   * @throws NoRoom, before the body is read if there is no room then, PayloadTooLarge, BadRequest when the body is not a sequence
   * of maps, WorkspaceClosed, ServiceUnavailable, and the errors of the body and of `beforeGroup`
   * @param read starts to read the body, with a place that is held only while there is work for it
   */
  async upload(batch: BatchUpload, read: (place: Place) => AsyncIterable<Buffer>): Promise<BatchUploaded> {
    return this.space.during((place) => this.uploadGroups(batch, read(placesOf(place, batch.slot))));
  }

  private async uploadGroups(batch: BatchUpload, body: AsyncIterable<Buffer>): Promise<BatchUploaded> {
    const results: UploadResult[] = [];
    let cursor: number | undefined;
    let writing: Promise<number | undefined> = Promise.resolve(undefined);
    try {
      for await (const group of groupsOf(body, results, this.mostOfItem)) {
        cursor = (await writing) ?? cursor;
        writing = batch.slot.during(() => this.write(batch, group, results));
        writing.catch(() => undefined); // thrown when it is awaited
        if (contentBytes(group) >= MOST_BESIDE_NEXT) await writing.catch(() => undefined);
      }
      cursor = (await writing) ?? cursor;
    } finally {
      await writing.catch(() => undefined);
    }
    if (results.length === 0) throw new BadRequest('a batch has at least one item');
    return { cursor: cursor ?? (await this.headCursor(batch.workspace)), results };
  }

  /** Returns the cursor of the last change; undefined when nothing was written. */
  private async write(
    { workspace, deviceId, beforeGroup }: BatchUpload,
    group: readonly Placed[],
    results: UploadResult[],
  ): Promise<number | undefined> {
    await beforeGroup(group.length);
    const { id: workspaceId, caller } = workspace;
    const uploads = group.map(({ item }) => ({ ...item, workspaceId, caller, deviceId }));
    const outcomes = await this.space.duringAll(
      group.map(({ item }) => item.content.length),
      () => this.files.uploadAll({ workspaceId, deviceId }, uploads),
    );
    let cursor: number | undefined;
    for (const [index, outcome] of outcomes.entries()) {
      const { place, item } = group[index] as Placed;
      if (outcome.status === 'fulfilled') {
        results[place] = uploadedResult(item, outcome.value);
        cursor = outcome.value.cursor ?? cursor;
      } else results[place] = refusedResult(item.encryptedPath, outcome.reason);
    }
    return cursor;
  }

  private async headCursor({ id, caller }: WorkspaceRef): Promise<number> {
    const values = [id, ...(await this.workspaceAccess.admittedParameters(caller))];
    const [head] = await this.database.run<{ cursor: number }>(batchStatements.head, values);
    if (!head) throw new WorkspaceClosed();
    return head.cursor;
  }
}

const contentBytes = (group: readonly Placed[]): number =>
  group.reduce((sum, { item }) => sum + item.content.length, 0);

/** Yields the items that can be written, in groups that fit into a commit; adds the results of refused items. */
async function* groupsOf(
  body: AsyncIterable<Buffer>,
  results: UploadResult[],
  mostOfItem: number,
): AsyncGenerator<readonly Placed[], void> {
  const paths = new Set<string>();
  let [items, bytes, groupBytes] = [0, 0, 0];
  let group: Placed[] = [];
  for await (const map of cborMaps(body)) {
    const size = contentIn(map).length;
    bytes += size;
    if (size > mostOfItem) throw new PayloadTooLarge(`an item of a batch has at most ${mostOfItem} bytes`);
    refuseSurplus(items, bytes);
    const place = items++;
    const item = itemOrRefusal(map, paths);
    if ('status' in item) {
      results[place] = item;
      continue;
    }
    if (group.length > 0 && groupBytes + size > COMMIT_BYTES) {
      yield group;
      [group, groupBytes] = [[], 0];
    }
    group.push({ place, item });
    groupBytes += size;
    if (group.length < COMMIT_UPLOADS && groupBytes < COMMIT_BYTES) continue;
    yield group; // at once, so that it is not in memory together with the next item
    [group, groupBytes] = [[], 0];
  }
  if (group.length > 0) yield group;
}

/** @throws PayloadTooLarge */
function refuseSurplus(itemsBefore: number, bytes: number): void {
  if (itemsBefore === MAX_ITEMS) throw new PayloadTooLarge(`a batch has at most ${MAX_ITEMS} items`);
  if (bytes > MAX_BATCH_BYTES)
    throw new PayloadTooLarge(`the contents of a batch have at most ${MAX_BATCH_BYTES} bytes`);
}

/** @param paths of the items before this one */
function itemOrRefusal(map: CborMap, paths: Set<string>): UploadItem | UploadResult {
  const path = pathIn(map);
  const isRepeated = path !== null && paths.has(path);
  if (path !== null) paths.add(path);
  try {
    const item = uploadItemOf(map);
    if (isRepeated) throw new Conflict('the batch has an item with this path before');
    return item;
  } catch (error) {
    return refusedResult(path, error);
  }
}

const uploadedResult = (item: UploadItem, { isNew, fileId, version }: Uploaded): UploadResult => ({
  encryptedPath: item.encryptedPath,
  status: isNew ? 201 : 200,
  id: fileId,
  version,
  contentHash: item.contentHash,
});

/** Statuses that concern one item. All others end the batch. */
const OF_ITEM = new Set([400, 409, 412, 507]);

/** @throws the error itself if it ends the batch */
function refusedResult(encryptedPath: string | null, error: unknown): UploadResult {
  if (!(error instanceof ApiError) || !OF_ITEM.has(error.status)) throw error;
  const { status, message } = error;
  return { encryptedPath, status, id: null, version: null, contentHash: null, error: message };
}

/** Limits the batches in progress. A batch whose client is silent does not count. */
@Injectable()
export class BatchSlots extends FairSemaphore {
  constructor(queues: Queues) {
    super({
      atOnce: 32,
      waiting: 256,
      perOwner: { atOnce: 8, waiting: 32 },
      waitMs: 10_000,
      busy: 'too many batches at once',
    });
    queues.watch('batches', () => this.queued);
  }
}
