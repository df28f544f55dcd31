import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { StoredCheckpoint } from '../../checkpoints/index.js';
import { BEFORE_ALL_IDS, type Statement } from '../../../platform/database/index.js';
import { StoredSubscription } from '../../devices/web-push/index.js';
import { WorkspaceEntity } from '../../workspaces/index.js';
import { type Entry, linesEntry, textEntry } from './archive.js';
import { ExportedContents, type StoredContent } from './exported-contents.js';
import { ExportLists, type List } from './export-lists.js';
import { exportStatements } from './export.queries.js';
import { rowsOf } from './rows-of.js';

/** A workspace in the manifest. */
export interface ExportedWorkspace {
  readonly id: string;
  /** All changes up to this one are in the export, and none after it. */
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

/** The push service of an endpoint. The whole endpoint is a secret. */
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

/** The files of one workspace, as of the cursor that it has at the beginning. */
@Injectable()
export class WorkspaceExport {
  constructor(
    @InjectRepository(WorkspaceEntity) private readonly workspaces: Repository<WorkspaceEntity>,
    private readonly lists: ExportLists,
    private readonly contents: ExportedContents,
  ) {}

  /** Returns what the manifest says of the workspace; undefined, without a file, when it was deleted before it began. */
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

/** As it is exported. Without the verification hash: with it, a write of a key slot proves knowledge of the master key. */
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

/** The file with a content, relative to its workspace; null when it is absent. */
const nameOf = (folder: string, blobId: string, absent: ReadonlySet<string>): string | null =>
  absent.has(blobId) ? null : `${folder}/${blobId}`;
