import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { DocumentQuota, Files } from '../files/index.js';
import { Clock } from '../platform/clock/index.js';
import { Conflict, PreconditionFailed } from '../platform/http/index.js';
import { Contents, type OpenedContent } from './contents.js';
import { type Head, NoteHeads } from './note-heads.js';
import { EventLoopYield } from '../platform/async/index.js';
import { encryptContent, encryptPath } from './vault-crypto.js';
import type { Vault } from './vault.js';

const PIECE_BYTES = 1024 * 1024;

/** What an answer says of a note, with the hash of its ciphertext. */
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
 * Notes in plaintext: a client of the write model like any other, with the keys of the vault. What it writes is one
 * upload, one version and one announcement, under the same conditions.
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

  /** @throws NotFound, Conflict when it does not open or is no text, ServiceUnavailable */
  async read(vault: Vault, path: string): Promise<Note & OpenedContent> {
    const head = await this.heads.at(vault.workspaceId, encryptPath(vault.keys, path));
    return { ...noteAt(path, head), ...(await this.contents.open(vault, head.encryptedPath, head)) };
  }

  /** @throws Conflict when there is a live note, InsufficientStorage */
  async create(vault: Vault, writing: Writing): Promise<Note> {
    try {
      return await this.upload(vault, writing, { ifMatch: null, ifAbsent: true });
    } catch (error) {
      throw error instanceof PreconditionFailed ? new Conflict('the note exists') : error;
    }
  }

  /**
   * Replaces what is there. The same text again changes nothing, although its envelope would be another one.
   * @param ifMatch content hashes of which the live one must be one, or `*`; null: no demand
   * @throws NotFound unless there is a live note, PreconditionFailed, InsufficientStorage
   */
  async update(vault: Vault, writing: Writing, ifMatch: readonly string[] | null): Promise<Note> {
    const { path, content } = writing;
    const head = await this.heads.at(vault.workspaceId, encryptPath(vault.keys, path));
    const isAny = ifMatch === null || ifMatch.includes('*');
    // Before the texts are compared: who may write and not read must not learn by a false hash whether a guess is right.
    if (!isAny && !ifMatch.includes(head.contentHash)) throw new PreconditionFailed('the note has changed');
    if (await this.contents.isSame(vault, head, content)) return noteAt(path, head);
    try {
      // Checked again under the workspace's lock, where `*` is any live head.
      return await this.upload(vault, writing, { ifMatch: isAny ? ['*'] : ifMatch, ifAbsent: false });
    } catch (error) {
      if (!(error instanceof PreconditionFailed)) throw error;
      return this.update(vault, writing, ifMatch); // deleted or changed meanwhile: the head says which
    }
  }

  /** Soft-deletes; its history stays. @throws NotFound unless there is a live note */
  delete(vault: Vault, path: string, deviceId: string): Promise<void> {
    return this.files.delete(vault.workspaceId, encryptPath(vault.keys, path), deviceId);
  }

  private async upload(
    { workspaceId, keys }: Vault,
    { path, content, deviceId }: Writing,
    precondition: { ifMatch: readonly string[] | null; ifAbsent: boolean },
  ): Promise<Note> {
    const encryptedPath = encryptPath(keys, path);
    const envelope = encryptContent(keys, encryptedPath, content);
    const contentHash = await this.hashOf(envelope);
    const upload = { workspaceId, encryptedPath, deviceId, precondition, contentHash };
    await this.quota.foresee(upload, envelope.length);
    const { fileId, version } = await this.files.upload(upload, Readable.from(pieces(envelope)));
    const updatedAt = await this.heads.writtenAt(workspaceId, fileId, version);
    return { path, version, contentHash, updatedAt };
  }

  /** As `contentHash`, but others get their turn in between. */
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
