import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { encryptContent, encryptPath, InvalidPathError, normalizePath } from '../../../crypto/src/index.js';
import { EventLoopYield } from '../../platform/async.js';
import { Clock } from '../../platform/clock.js';
import { BadRequest, Conflict, fromRequest, PreconditionFailed } from '../../platform/http/index.js';
import { deviceIdOf } from '../devices/index.js';
import { contentHashesIn, DocumentQuota, Files, type ListedFile } from '../files/index.js';
import { ChangeLogReader, clampTextLimit } from '../sync/index.js';
import { bufferOf, Contents, type OpenedContent, pathOrNull, type Vault } from './contents.js';
import { type Head, NoteHeads } from './note-heads.js';

const PIECE_BYTES = 1024 * 1024;

/** The metadata of a note in a response, with the hash of its ciphertext. */
export interface Note {
  readonly path: string;
  readonly version: number;
  readonly contentHash: string;
  readonly updatedAt: Date;
}

export interface Writing {
  readonly path: string;
  readonly content: Buffer;
  readonly deviceId: string;
}

/**
 * Notes in plaintext: an ordinary client of the write model that holds the keys of the vault. Each write is one
 * upload, one version and one event, with the usual preconditions.
 */
@Injectable()
export class Notes {
  constructor(
    private readonly files: Files,
    private readonly heads: NoteHeads,
    private readonly contents: Contents,
    private readonly quota: DocumentQuota,
    private readonly clock: Clock,
  ) {}

  /** @throws NotFound, Conflict when the note cannot be decrypted or is not text, ServiceUnavailable */
  async read(vault: Vault, path: string): Promise<Note & OpenedContent> {
    const head = await this.heads.at(vault.workspaceId, encryptPath(vault.keys, path));
    return { ...noteAt(path, head), ...(await this.contents.open(vault, head.encryptedPath, head)) };
  }

  /** @throws Conflict when there is a live note, InsufficientStorage */
  async create(vault: Vault, writing: Writing): Promise<Note> {
    try {
      return await this.upload(vault, writing, { ifMatch: null, ifAbsent: true });
    } catch (error) {
      throw error instanceof PreconditionFailed ? new Conflict('the note already exists') : error;
    }
  }

  /**
   * Replaces a note. Writing the same text again changes nothing, although its envelope would differ.
   * @param ifMatch content hashes, one of which the live head must have, or `*`; null: no condition
   * @throws NotFound unless there is a live note, PreconditionFailed, InsufficientStorage
   */
  async update(vault: Vault, writing: Writing, ifMatch: readonly string[] | null): Promise<Note> {
    const { path, content } = writing;
    const head = await this.heads.at(vault.workspaceId, encryptPath(vault.keys, path));
    const isAny = ifMatch === null || ifMatch.includes('*');
    // Checked before comparing the texts: a caller that may write but not read must not use a false hash to test a guess.
    if (!isAny && !ifMatch.includes(head.contentHash)) throw new PreconditionFailed('the note has changed');
    if (await this.contents.isSame(vault, head, content)) return noteAt(path, head);
    try {
      // Checked again under the workspace's lock, where `*` matches any live head.
      return await this.upload(vault, writing, { ifMatch: isAny ? ['*'] : ifMatch, ifAbsent: false });
    } catch (error) {
      if (!(error instanceof PreconditionFailed)) throw error;
      return this.update(vault, writing, ifMatch); // deleted or changed meanwhile: reading the head again tells which
    }
  }

  /** Soft-deletes a note and keeps its history. @throws NotFound unless there is a live note */
  delete(vault: Vault, path: string, deviceId: string): Promise<void> {
    return this.files.delete(vault.workspaceId, encryptPath(vault.keys, path), deviceId);
  }

  private async upload(
    { workspaceId, keys }: Vault,
    { path, content, deviceId }: Writing,
    precondition: { ifMatch: readonly string[] | null; ifAbsent: boolean },
  ): Promise<Note> {
    const encryptedPath = encryptPath(keys, path);
    const envelope = bufferOf(await encryptContent(keys, encryptedPath, content));
    const contentHash = await this.hashOf(envelope);
    const upload = { workspaceId, encryptedPath, deviceId, precondition, contentHash };
    await this.quota.foresee(upload, envelope.length);
    const { fileId, version } = await this.files.upload(upload, Readable.from(pieces(envelope)));
    const updatedAt = await this.heads.writtenAt(workspaceId, fileId, version);
    return { path, version, contentHash, updatedAt };
  }

  /** Like `contentHash`, but yields to the event loop in between. */
  private async hashOf(envelope: Buffer): Promise<string> {
    const hash = createHash('sha256');
    const turns = new EventLoopYield(this.clock);
    for (const piece of pieces(envelope)) {
      hash.update(piece);
      await turns.pause();
    }
    return hash.digest('hex');
  }
}

function noteAt(path: string, { version, contentHash, updatedAt }: Head): Note {
  return { path, version, contentHash, updatedAt };
}

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** UTF-8 bytes. The vault itself allows three times as many, but a path must also fit into a URL, percent-encoded. */
const MAX_PATH_BYTES = 1024;

const DEFAULT_DEVICE = 'automation';

/** Normalizes the path of a note as in the vault, to NFC. @throws BadRequest */
export function notePath(path: string): string {
  const normal = normalized(path);
  if (Buffer.byteLength(normal, 'utf8') > MAX_PATH_BYTES)
    throw new BadRequest(`the path is longer than ${MAX_PATH_BYTES} bytes`);
  return normal;
}

function normalized(path: string): string {
  try {
    return normalizePath(path);
  } catch (error) {
    throw error instanceof InvalidPathError ? new BadRequest(error.message) : error;
  }
}

/** The note named by the rest of the URL, percent-decoded. */
export const NotePath = fromRequest(({ params }) => notePath((params as { '*': string })['*']));

/** `X-Device-Id`, or `automation` when absent: the device that makes the change and is not notified of it. */
export const WritingDevice = fromRequest((request) => deviceIdOf(request) ?? DEFAULT_DEVICE);

/** Which notes to list. */
export interface NotesQuery {
  /** Prefix of the paths, in NFC. */
  readonly prefix: string;
  /** 1 to 1000. */
  readonly limit: number;
  /** The end of the previous page. */
  readonly pageCursor: string | undefined;
}

/** `prefix`, `limit` and `pageCursor`. */
export const RequestedNotes = fromRequest(({ query }): NotesQuery => {
  const { prefix = '', limit, pageCursor } = query as Record<string, unknown>;
  if (typeof prefix !== 'string') throw new BadRequest('prefix must be a string');
  const from = pageCursor === '' ? undefined : pageCursor;
  if (from !== undefined && !isUUID(from)) throw new BadRequest('pageCursor is not a cursor of this list');
  return {
    prefix: prefix.normalize('NFC'),
    limit: clampTextLimit(limit),
    pageCursor: from as string | undefined,
  };
});

/** `If-Match: "<content hash>", …` or `*`; null when absent. */
export const IfMatch = fromRequest(({ headers }) => contentHashesIn(headers['if-match']));

/** Maximum number of files that one request examines: paths are encrypted, so the database cannot filter by prefix. */
const LOOKED_AT = 5_000;
const MAX_PAGE = 1_000;

export interface ListedNote {
  /** Null when it cannot be decrypted with this key. */
  readonly path: string | null;
  readonly file: ListedFile;
}

export interface NotePage {
  readonly notes: ListedNote[];
  /** The start of the next page; null after the last. */
  readonly nextPageCursor: string | null;
}

/** Lists the live notes in order of creation. */
@Injectable()
export class NoteList {
  constructor(
    private readonly sync: ChangeLogReader,
    private readonly clock: Clock,
  ) {}

  /** Returns up to `limit` notes; fewer, even none, when many consecutive files do not match the prefix. */
  async page({ workspaceId, keys }: Vault, { prefix, limit, pageCursor }: NotesQuery): Promise<NotePage> {
    const turns = new EventLoopYield(this.clock);
    const notes: ListedNote[] = [];
    let after = pageCursor;
    for (let lookedAt = 0; ;) {
      const pageSize = prefix === '' ? limit - notes.length : MAX_PAGE;
      const { files, hasMore } = await this.sync.snapshot(workspaceId, after, pageSize);
      for (const [index, file] of files.entries()) {
        const path = pathOrNull(keys, file.encryptedPath);
        if (prefix === '' || path?.startsWith(prefix)) notes.push({ path, file });
        await turns.pause();
        after = file.id;
        if (notes.length === limit) {
          return { notes, nextPageCursor: hasMore || index < files.length - 1 ? after : null };
        }
      }
      lookedAt += files.length;
      if (!hasMore) return { notes, nextPageCursor: null };
      if (lookedAt >= LOOKED_AT) return { notes, nextPageCursor: after ?? null };
    }
  }
}
