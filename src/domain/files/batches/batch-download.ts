import { Injectable } from '@nestjs/common';
import { encode, encodeInto } from 'cborg';
import {
  ofOpenWorkspace,
  WorkspaceAccess,
  WorkspaceClosed,
  type WorkspaceRef,
} from '../../../access/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/index.js';
import { ReadAhead } from '../../../platform/http/index.js';
import { Log } from '../../../platform/log.js';
import { type BlobReference, Blobs } from '../../../platform/storage/index.js';
import type { DownloadItem } from './batches.dto.js';
import { MAX_CONTENT_BYTES } from './cbor-maps.js';

export const batchStatements = {
  /**
   * The live heads of paths ($2): one row per path, in order, with nulls when the path has none; no rows when the caller has no
   * access to the workspace. A head has the location of its content unless the client has that content ($3, by position) or it
   * has more than $5 bytes. Heads are cut off as soon as the contents have more than $4 bytes in total. Each table is read by its
   * key alone (LIMIT 1): with a join the planner could choose to scan the workspace.
   */
  heads: ofOpenWorkspace(
    'batches.heads',
    (access) => `SELECT head.version, head.hash AS "contentHash", head.size, $1::uuid AS "workspaceId",
            head.is_wanted AND head.total > $4 AS "isCutOff", b.*
     FROM (
       SELECT asked.place, f.version, f.hash, f.size, f.blob_id, wanted.is_wanted,
              sum(CASE WHEN wanted.is_wanted THEN f.size END) OVER (ORDER BY asked.place) AS total
       FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS asked (path, has, place)
       LEFT JOIN LATERAL (
         SELECT version, blob_id, content_hash AS hash, encrypted_size AS size FROM {files}
         WHERE workspace_id = $1 AND path_hash = sha256(asked.path::bytea) AND NOT is_deleted LIMIT 1
       ) f ON true
       CROSS JOIN LATERAL (
         SELECT f.version IS NOT NULL AND f.size <= $5 AND f.hash IS DISTINCT FROM asked.has AS is_wanted
       ) wanted
     ) head
     LEFT JOIN LATERAL (
       SELECT id, location, bytes FROM {blobs} WHERE workspace_id = $1 AND id = head.blob_id LIMIT 1
     ) b ON head.is_wanted AND head.total <= $4
     WHERE EXISTS (SELECT 1 FROM {workspaces} w WHERE w.id = $1 AND ${access(6)})
     ORDER BY head.place`,
    true,
  ),

  /** No row when the caller has no access to the workspace. */
  head: ofOpenWorkspace(
    'batches.head',
    (access) => `SELECT w.head_cursor AS cursor FROM {workspaces} w WHERE w.id = $1 AND ${access(2)}`,
  ),
};

/** Limits of the contents of an answer, in bytes: of a group, of which two are held in memory, and of the whole answer. */
const GROUP_BYTES = MAX_CONTENT_BYTES;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

const GROUP_ITEMS = 64;

/** Contents of at least this size are streamed, so that concurrent batches do not hold them in memory. */
const STREAMED_BYTES = 256 * 1024;

/** Less than the size of any content. */
const NONE = -1;

/** The live head of a path, with nulls when the path has none. `id` is null when the content is not sent. */
interface Head extends Omit<BlobReference, 'id'> {
  readonly id: string | null;
  readonly version: number | null;
  readonly contentHash: string | null;
  /** The group had no room for its content. */
  readonly isCutOff: boolean;
}

/** A group of items, in order; fewer than requested when their contents have too many bytes. */
interface Group {
  readonly answers: readonly Answer[];
  /** Total bytes of the contents that are sent. */
  readonly bytes: number;
  /** Bytes of the contents that are in memory. */
  readonly heldBytes: number;
}

/** One map of the answer. `content` is missing when the client has it, must fetch it alone or can ask again. */
interface Answer {
  readonly encryptedPath: string;
  readonly status: 200 | 304 | 404;
  readonly version: number | null;
  readonly contentHash: string | null;
  readonly encryptedSize: number | null;
  /** A reference when the content is streamed from the store. */
  readonly content?: Buffer | BlobReference | undefined;
}

type WholeAnswer = Omit<Answer, 'content'> & { readonly content?: Buffer };

/** Downloads of many files in one request. Each group is read while the one before it is sent. */
@Injectable()
export class BatchDownloads {
  constructor(
    private readonly database: Database,
    private readonly blobs: Blobs,
    private readonly workspaceAccess: WorkspaceAccess,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /**
   * The maps of all items as a CBOR sequence, a group at a time. Each group is consistent, the whole answer is not.
   * @param withinMs after this time contents are left out, as they are when the answer is too large
   * @param ahead counts the bytes in memory of the group that is sent and of the next one
   * @throws WorkspaceClosed and database errors, also between groups
   */
  async *maps(
    workspace: WorkspaceRef,
    items: readonly DownloadItem[],
    withinMs: number,
    ahead = new ReadAhead(),
  ): AsyncGenerator<Buffer, void> {
    const until = this.clock.elapsed() + withinMs;
    let left = MAX_ANSWER_BYTES;
    let done = 0;
    const readNext = (): Promise<Group> => {
      const isLate = this.clock.elapsed() > until;
      const reading = this.group(workspace, items.slice(done, done + GROUP_ITEMS), isLate ? 0 : left);
      reading.then(
        ({ heldBytes }) => ahead.add(heldBytes),
        () => undefined, // thrown when it is awaited
      );
      return reading;
    };
    for (let next: Promise<Group> | undefined = readNext(); next;) {
      const { answers, bytes, heldBytes }: Group = await next;
      // No content fits any more, so the rest of the answer has none.
      left = answers.length === 0 ? 0 : left - bytes;
      done += answers.length;
      next = done < items.length ? readNext() : undefined;
      yield* this.sequenceOf(answers);
      ahead.add(-heldBytes);
    }
  }

  /** @param left bytes of contents that still fit into the answer; with 0, contents are left out */
  private async group(workspace: WorkspaceRef, items: readonly DownloadItem[], left: number): Promise<Group> {
    const values = [
      workspace.id,
      items.map(({ encryptedPath }) => encryptedPath),
      items.map(({ contentHash }) => contentHash?.toLowerCase() ?? null),
      Math.min(GROUP_BYTES, left),
      left === 0 ? NONE : MAX_CONTENT_BYTES,
      ...(await this.workspaceAccess.admittedParameters(workspace.caller)),
    ];
    const heads = await this.database.run<Head>(batchStatements.heads, values);
    if (heads.length === 0) throw new WorkspaceClosed();
    const end = heads.findIndex(({ isCutOff }) => isCutOff);
    const sent = end < 0 ? heads : heads.slice(0, end);
    const contents = await Promise.all(sent.map((head) => this.contentOf(head)));
    return {
      answers: sent.map((head, index) => answerTo(items[index] as DownloadItem, head, contents[index])),
      bytes: sent.reduce((sum, { id, size }) => sum + (id === null ? 0 : size), 0),
      heldBytes: contents.reduce((sum, content) => sum + (Buffer.isBuffer(content) ? content.length : 0), 0),
    };
  }

  /** Leaves out a content that cannot be read, so that the others are sent; the download of that file alone reports the error. */
  private async contentOf({ id, ...rest }: Head): Promise<Answer['content']> {
    if (id === null) return undefined;
    const blob = { id, ...rest };
    if (!blob.bytes && blob.size >= STREAMED_BYTES) return blob;
    return this.blobs.readWhole(blob).catch((error: unknown) => this.left(blob, error));
  }

  /** The maps as a CBOR sequence. @throws when a content ends early: the answer must be cut off then */
  private async *sequenceOf(answers: readonly Answer[]): AsyncGenerator<Buffer, void> {
    let before: WholeAnswer[] = [];
    for (const { content, ...fields } of answers) {
      if (!content || Buffer.isBuffer(content)) {
        before.push(content ? { ...fields, content } : fields);
        continue;
      }
      const pieces = this.blobs.pieces(content);
      try {
        let piece = await pieces.next().catch((error: unknown) => this.left(content, error));
        const map = encode(fields);
        yield Buffer.concat([cborSequence(before), piece ? withContent(map, content.size) : map]);
        before = [];
        for (; piece && !piece.done; piece = await pieces.next()) yield piece.value;
      } finally {
        await pieces.return();
      }
    }
    if (before.length > 0) yield cborSequence(before);
  }

  private left({ id }: BlobReference, err: unknown): undefined {
    this.log.error({ err, blob: id }, 'a batch lacks a content that cannot be read');
    return undefined;
  }
}

/** Adds `content` to an encoded map of fewer than 23 pairs, up to the bytes of its value. */
function withContent(map: Uint8Array, length: number): Buffer {
  const content = Buffer.from([0x5a, 0, 0, 0, 0]); // a byte string with a length of 32 bits
  content.writeUInt32BE(length, 1);
  const bytes = Buffer.concat([map, encode('content'), content]);
  bytes.writeUInt8(bytes.readUInt8(0) + 1, 0);
  return bytes;
}

function answerTo(
  { encryptedPath, contentHash }: DownloadItem,
  head: Head,
  content?: Answer['content'],
): Answer {
  const { version, contentHash: liveHash, size } = head;
  if (liveHash === null)
    return { encryptedPath, status: 404, version: null, contentHash: null, encryptedSize: null };
  const status = contentHash?.toLowerCase() === liveHash ? 304 : 200;
  return {
    encryptedPath,
    status,
    version,
    contentHash: liveHash,
    encryptedSize: size,
    ...(content && { content }),
  };
}

/** Upper bound of the bytes of a map besides its path and its content. */
const OTHER_BYTES = 256;

/** Each content is copied once. */
function cborSequence(answers: readonly WholeAnswer[]): Buffer {
  const most = answers.map(
    ({ encryptedPath, content }) => encryptedPath.length + (content?.length ?? 0) + OTHER_BYTES,
  );
  const sequence = Buffer.allocUnsafeSlow(most.reduce((sum, bytes) => sum + bytes, 0));
  let end = 0;
  for (const answer of answers) end += encodeInto(answer, sequence.subarray(end)).written;
  return sequence.subarray(0, end);
}
