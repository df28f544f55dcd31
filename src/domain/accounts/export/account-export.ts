import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { Clock } from '../../../platform/clock.js';
import { VERSION } from '../../../platform/config/index.js';
import { BEFORE_ALL_IDS, Database, type Statement } from '../../../platform/database/index.js';
import { Unauthorized } from '../../../platform/http/index.js';
import { BlobMissing, type BlobReference, Blobs } from '../../../platform/storage/index.js';
import { StoredCheckpoint } from '../../checkpoints/index.js';
import { StoredSubscription } from '../../devices/web-push/index.js';
import { WorkspaceEntity, WorkspacesOfUser } from '../../workspaces/index.js';
import { type Entry, linesEntry, README, tarOf, textEntry } from './archive.js';
import { ACCOUNT_LISTS, ExportLists, type List, rowsOf } from './export-lists.js';
import { exportStatements } from './export.queries.js';

/** A ciphertext that rows refer to. */
export interface StoredContent {
  readonly blobId: string;
  /** The size of the ciphertext, in bytes. */
  readonly size: number;
}

const MAX_BATCH = 100;
const BATCH_BYTES = 1024 * 1024;

/** Reads the ciphertexts of versions and attachments. */
@Injectable()
export class ExportedContents {
  constructor(private readonly blobs: Blobs) {}

  /**
   * The contents as files. Small ones are read in batches of up to a MiB, large ones are streamed.
   * @param absent receives the ids of contents that were deleted meanwhile, or whose bytes are missing
   * @throws ServiceUnavailable when the blob store does not answer
   */
  async *entries(
    workspaceId: string,
    folder: string,
    contents: readonly StoredContent[],
    absent: Set<string>,
  ): AsyncGenerator<Entry, void> {
    for (const batch of batchesOf(contents)) {
      const ids = batch.map(({ blobId }) => blobId);
      const found = new Map((await this.blobs.find(workspaceId, ids)).map((blob) => [blob.id, blob]));
      for (const id of ids) {
        const chunks = await this.chunksOf(found.get(id));
        if (!chunks) absent.add(id);
        else yield { name: `${folder}/${id}`, size: found.get(id)?.size ?? 0, chunks };
      }
    }
  }

  /** Undefined when the bytes are missing. Resolves once the first bytes are available. */
  private async chunksOf(blob: BlobReference | undefined): Promise<Entry['chunks'] | undefined> {
    if (!blob) return undefined;
    try {
      const bytes = await this.blobs.read(blob);
      return Buffer.isBuffer(bytes) ? [bytes] : bytes;
    } catch (error) {
      if (error instanceof BlobMissing) return undefined;
      throw error;
    }
  }
}

function* batchesOf(contents: readonly StoredContent[]): Generator<StoredContent[], void> {
  let batch: StoredContent[] = [];
  let bytes = 0;
  for (const content of contents) {
    if (batch.length === MAX_BATCH || (batch.length > 0 && bytes + content.size > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(content);
    bytes += content.size;
  }
  if (batch.length > 0) yield batch;
}

/** A workspace in the manifest. */
export interface ExportedWorkspace {
  readonly id: string;
  /** The export has all changes up to this one, and none after it. */
  readonly cursor: number;
  /** The same for its attachments. */
  readonly assetsRevision: number;
  /** Whether it was deleted while it was exported: then parts may be missing. */
  readonly wasDeleted: boolean;
}

interface VersionRow {
  readonly id: string;
  readonly blobId: string;
  readonly encryptedSize: number;
  readonly isFirst: boolean;
}

interface AssetRow {
  readonly revision: number;
  readonly uploadedAt: Date;
  readonly blobId: string;
  readonly size: number;
}

/** Matches the push service of an endpoint; the whole endpoint is a secret. */
const SERVICE = /^https?:\/\/[^/]*/;

const byId = ({ id }: { readonly id: string }): [string] => [id];
const byIdUpTo = (read: Statement, cursor: number): List<{ id: string }> => ({
  read,
  start: [BEFORE_ALL_IDS],
  positionOf: byId,
  bounds: [cursor],
});

const checkpoints = rowsOf(StoredCheckpoint, {
  owner: 'workspaceId',
  key: 'id',
  columns: ['id', 'encryptedLabel', 'kind', 'cursor', 'createdAt'],
});

const pushSubscriptions = rowsOf(StoredSubscription, {
  owner: 'workspaceId',
  key: 'deviceId',
  start: '',
  columns: ['deviceId', ['service', 'endpoint'], 'updatedAt'],
  finished: (row) => ({ ...row, service: SERVICE.exec(String(row['service']))?.[0] ?? null }),
});

/** Exports one workspace, as of its cursor at the beginning. */
@Injectable()
export class WorkspaceExport {
  constructor(
    @InjectRepository(WorkspaceEntity) private readonly workspaces: Repository<WorkspaceEntity>,
    private readonly lists: ExportLists,
    private readonly contents: ExportedContents,
  ) {}

  /** Returns the workspace's entry in the manifest; undefined, without any file, when it was deleted before its export began. */
  async *entries(userId: string, id: string): AsyncGenerator<Entry, ExportedWorkspace | undefined> {
    const workspace = await this.find(userId, id);
    if (!workspace) return undefined;
    const { cursor, assetsRevision } = workspace;
    const folder = `workspaces/${id}`;
    yield textEntry(`${folder}/workspace.json`, `${JSON.stringify(workspace, null, 1)}\n`);
    const simple = this.simpleLists(cursor);
    for (const [name, list] of simple) yield* this.lists.files(userId, id, `${folder}/${name}`, list);
    yield* this.versions(userId, id, cursor);
    yield* this.assets(userId, id, assetsRevision);
    const wasDeleted = (await this.find(userId, id)) === undefined;
    return { id, cursor, assetsRevision, wasDeleted };
  }

  private simpleLists(cursor: number): [string, List<never>][] {
    const { files, changes, keySlots } = exportStatements;
    const byCursor: List<{ cursor: number }> = {
      read: changes,
      start: [0],
      positionOf: (row) => [row.cursor],
      bounds: [cursor],
    };
    return [
      ['files', byIdUpTo(files, cursor)],
      ['changes', byCursor],
      ['checkpoints', checkpoints],
      ['key-slots', { read: keySlots, start: [BEFORE_ALL_IDS], positionOf: byId }],
      ['push-subscriptions', pushSubscriptions],
    ];
  }

  private async *versions(userId: string, id: string, cursor: number): AsyncGenerator<Entry, void> {
    const list = byIdUpTo(exportStatements.versions, cursor) as List<VersionRow>;
    const absent = new Set<string>();
    let number = 0;
    for await (const rows of this.lists.pages(userId, id, list)) {
      const first = rows.filter(({ isFirst }) => isFirst);
      const stored = first.map(({ blobId, encryptedSize }) => ({ blobId, size: encryptedSize }));
      yield* this.withContents(id, 'contents', stored, absent);
      const lines = rows.map((row) => {
        const content = nameOf('contents', row.blobId, absent);
        return { ...row, blobId: undefined, isFirst: undefined, content };
      });
      yield linesEntry(`workspaces/${id}/versions`, ++number, lines);
    }
  }

  private async *assets(userId: string, id: string, revision: number): AsyncGenerator<Entry, void> {
    const list: List<AssetRow> = {
      read: exportStatements.assets,
      start: [new Date(0), 0],
      positionOf: (row) => [row.uploadedAt, row.revision],
      bounds: [revision],
    };
    const absent = new Set<string>();
    let number = 0;
    for await (const rows of this.lists.pages(userId, id, list)) {
      yield* this.withContents(id, 'attachments', rows, absent);
      const lines = rows.map(({ blobId, ...row }) => ({
        ...row,
        content: nameOf('attachments', blobId, absent),
      }));
      yield linesEntry(`workspaces/${id}/assets`, ++number, lines);
    }
  }

  private withContents(
    id: string,
    folder: string,
    stored: readonly StoredContent[],
    absent: Set<string>,
  ): AsyncGenerator<Entry, void> {
    return this.contents.entries(id, `workspaces/${id}/${folder}`, stored, absent);
  }

  private async find(userId: string, id: string): Promise<WorkspaceRow | undefined> {
    const found = await this.workspaces.findOneBy({ id, userId, deletedAt: IsNull() });
    return found ? rowOf(found) : undefined;
  }
}

type WorkspaceRow = ReturnType<typeof rowOf>;

/**
 * The exported columns, without the verification hash: knowing it counts as proof of the master key when key slots are written.
 */
const rowOf = (workspace: WorkspaceEntity) => ({
  id: workspace.id,
  name: workspace.name,
  encryptionSalt: workspace.encryptionSalt,
  verificationSalt: workspace.verificationSalt,
  cursor: workspace.headCursor,
  compactionFloor: workspace.compactionFloor,
  liveFiles: workspace.liveFiles,
  documentBytes: workspace.documentBytes,
  assetsRevision: workspace.assetsRevision,
  createdAt: workspace.createdAt,
  updatedAt: workspace.updatedAt,
});

/** The path of a content's file, relative to its workspace; null when the content is absent. */
const nameOf = (folder: string, blobId: string, absent: ReadonlySet<string>): string | null =>
  absent.has(blobId) ? null : `${folder}/${blobId}`;

/**
 * Exports everything that the service stores about an account, without secrets; docs/reference/export-format.md has the format.
 */
@Injectable()
export class AccountExport {
  constructor(
    private readonly database: Database,
    private readonly lists: ExportLists,
    private readonly workspacesOfUser: WorkspacesOfUser,
    private readonly workspaceExport: WorkspaceExport,
    private readonly clock: Clock,
  ) {}

  /**
   * The bytes of the tar, produced at the reader's pace. After an error they end before the manifest.
   * @throws Unauthorized when the account does not exist
   */
  async begin(userId: string): Promise<AsyncGenerator<Buffer, void>> {
    const [account] = await this.database.run<object>(exportStatements.account, [userId]);
    if (!account) throw new Unauthorized();
    const listed = await this.workspacesOfUser.oldest(userId);
    const exportedAt = this.clock.now();
    const workspaces: ExportedWorkspace[] = [];
    const manifest = (): object => ({
      format: 'account-export',
      formatVersion: 1,
      serviceVersion: VERSION,
      accountId: userId,
      exportedAt,
      workspaces,
    });
    return tarOf(this.entries(userId, account, listed, workspaces), manifest, exportedAt);
  }

  private async *entries(
    userId: string,
    account: object,
    listed: readonly { readonly id: string }[],
    workspaces: ExportedWorkspace[],
  ): AsyncGenerator<Entry, void> {
    yield textEntry('README.txt', README);
    yield textEntry('account.json', `${JSON.stringify(account, null, 1)}\n`);
    for (const [name, list] of ACCOUNT_LISTS) yield* this.lists.files(userId, userId, name, list);
    for (const { id } of listed) {
      const exported = yield* this.workspaceExport.entries(userId, id);
      if (exported) workspaces.push(exported);
    }
    await this.lists.checkStillAllowed(userId);
  }
}
