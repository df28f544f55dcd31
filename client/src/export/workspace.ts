import type { StoredSlot } from '../core/index.js';
import { BrokenExport, filesOf, rowOf } from './archive.js';

export interface WorkspaceFacts {
  readonly id: string;
  readonly name: string;
  /** Null: encryption was never set up. */
  readonly encryptionSalt: string | null;
  readonly verificationSalt: string | null;
}

export interface ExportedFile {
  readonly id: string;
  readonly encryptedPath: string;
  readonly version: number;
  readonly isDeleted: boolean;
}

export interface ExportedVersion {
  readonly fileId: string;
  readonly version: number;
  readonly contentHash: string;
  readonly createdAt: string;
  /** The name of its file in the archive, below the workspace; null when the service no longer had the content. */
  readonly content: string | null;
}

export interface ExportedSlot extends StoredSlot {
  readonly id: string;
  readonly kind: 'password' | 'recovery' | 'passkey';
}

export interface ExportedAsset {
  readonly token: string;
  readonly content: string | null;
}

/** The metadata of one workspace in the archive, without file contents. */
export interface ExportedWorkspace {
  readonly facts: WorkspaceFacts;
  readonly files: readonly ExportedFile[];
  readonly versions: readonly ExportedVersion[];
  readonly assets: readonly ExportedAsset[];
  readonly slots: readonly ExportedSlot[];
}

/** Reads the metadata of all workspaces. */
export async function workspacesIn(path: string): Promise<ExportedWorkspace[]> {
  const facts: WorkspaceFacts[] = [];
  const lists = new Map<string, unknown[]>();
  for await (const { name, read } of filesOf(path)) {
    const [, id = '', list = ''] =
      /^workspaces\/([^/]+)\/(workspace|files|versions|assets|key-slots)(?:-\d+\.jsonl|\.json)$/.exec(name) ??
      [];
    if (list === 'workspace') facts.push(factsIn(id, (await read()).toString()));
    else if (list !== '') {
      const rows = (await read()).toString().split('\n').filter(Boolean);
      const key = `${id}/${list}`;
      // An unreadable row becomes an empty one, which is reported where rows are used.
      lists.set(key, [...(lists.get(key) ?? []), ...rows.map((row) => rowOf(row) ?? {})]);
    }
  }
  const rowsOf = (id: string, list: string): unknown[] => lists.get(`${id}/${list}`) ?? [];
  return facts.map((one) => ({
    facts: one,
    files: rowsOf(one.id, 'files') as ExportedFile[],
    versions: rowsOf(one.id, 'versions') as ExportedVersion[],
    assets: rowsOf(one.id, 'assets') as ExportedAsset[],
    slots: rowsOf(one.id, 'key-slots') as ExportedSlot[],
  }));
}

/** @param id the directory of the workspace in the archive @throws BrokenExport */
function factsIn(id: string, text: string): WorkspaceFacts {
  const facts = rowOf(text) ?? {};
  const salts = [facts['encryptionSalt'], facts['verificationSalt']];
  const areSalts = salts.every(
    (salt) => salt === null || (typeof salt === 'string' && /^([0-9a-f]{2})+$/.test(salt)),
  );
  if (facts['id'] === id && typeof facts['name'] === 'string' && areSalts)
    return facts as unknown as WorkspaceFacts;
  throw new BrokenExport(`the export is not intact: the workspace ${id} is described in another form`);
}
