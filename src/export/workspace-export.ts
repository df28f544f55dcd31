import { Injectable } from '@nestjs/common';
import { BEFORE_ALL_IDS, Database } from '../platform/database/index.js';
import { type Entry, linesEntry, textEntry } from './archive.js';
import { ExportedContents, type StoredContent } from './exported-contents.js';
import { ExportLists, type List } from './export-lists.js';
import { exportStatements } from './export.queries.js';

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

interface WorkspaceRow {
  readonly id: string;
  readonly cursor: number;
  readonly assetsRevision: number;
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

const byId = ({ id }: { readonly id: string }): [string] => [id];
const byIdUpTo = (statement: List['statement'], cursor: number): List<{ id: string }> => ({
  statement,
  start: [BEFORE_ALL_IDS],
  positionOf: byId,
  bounds: [cursor],
});

/** The files of one workspace, as of the cursor that it has at the beginning. */
@Injectable()
export class WorkspaceExport {
  constructor(
    private readonly database: Database,
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
    const { files, changes, checkpoints, keySlots, pushSubscriptions } = exportStatements;
    const byCursor: List<{ cursor: number }> = {
      statement: changes,
      start: [0],
      positionOf: (row) => [row.cursor],
      bounds: [cursor],
    };
    const byDevice: List<{ deviceId: string }> = {
      statement: pushSubscriptions,
      start: [''],
      positionOf: ({ deviceId }) => [deviceId],
    };
    return [
      ['files', byIdUpTo(files, cursor)],
      ['changes', byCursor],
      ['checkpoints', { statement: checkpoints, start: [BEFORE_ALL_IDS], positionOf: byId }],
      ['key-slots', { statement: keySlots, start: [BEFORE_ALL_IDS], positionOf: byId }],
      ['push-subscriptions', byDevice],
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
      statement: exportStatements.assets,
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
    return (await this.database.run<WorkspaceRow>(exportStatements.workspace, [id, userId]))[0];
  }
}

/** The file with a content, relative to its workspace; null when it is absent. */
const nameOf = (folder: string, blobId: string, absent: ReadonlySet<string>): string | null =>
  absent.has(blobId) ? null : `${folder}/${blobId}`;
