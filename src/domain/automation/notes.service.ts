import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { DocumentQuota, Files } from '../files/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Conflict, PreconditionFailed } from '../../platform/http/index.js';
import { Contents, type OpenedContent } from './contents.js';
import { type Head, NoteHeads } from './note-heads.js';
import { EventLoopYield } from '../../platform/async/index.js';
import { encryptContent, encryptPath } from './vault-crypto.js';
import type { Vault } from './vault.js';

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
   * @param ifMatch content hashes of which the live head must have one, or `*`; null: no condition
   * @throws NotFound unless there is a live note, PreconditionFailed, InsufficientStorage
   */
  async update(vault: Vault, writing: Writing, ifMatch: readonly string[] | null): Promise<Note> {
    const { path, content } = writing;
    const head = await this.heads.at(vault.workspaceId, encryptPath(vault.keys, path));
    const isAny = ifMatch === null || ifMatch.includes('*');
    // Checked before comparing the texts: a caller that may write but not read must not use a false hash to test a
    // guess.
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
    const envelope = encryptContent(keys, encryptedPath, content);
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
