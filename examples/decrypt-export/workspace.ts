import type { StoredSlot } from '../../src/automation/key-slot-crypto.js';
import { filesOf } from './archive.js';

export interface WorkspaceFacts {
  readonly id: string;
  readonly name: string;
  /** Null: its encryption was never set up. */
  readonly encryptionSalt: string | null;
  readonly verificationSalt: string | null;
  readonly verificationHash: string | null;
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
  /** Its file in the archive, below the workspace; null when the service no longer had it. */
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
export interface Workspace {
  readonly facts: WorkspaceFacts;
  readonly files: readonly ExportedFile[];
  readonly versions: readonly ExportedVersion[];
  readonly assets: readonly ExportedAsset[];
  readonly slots: readonly ExportedSlot[];
}

/** Reads the lists of all workspaces. */
export async function workspacesIn(path: string): Promise<Workspace[]> {
  const facts: WorkspaceFacts[] = [];
  const lists = new Map<string, unknown[]>();
  for await (const { name, read } of filesOf(path)) {
    const [, id = '', list = ''] =
      /^workspaces\/([^/]+)\/(workspace|files|versions|assets|key-slots)(?:-\d+\.jsonl|\.json)$/.exec(name) ??
      [];
    if (list === 'workspace') facts.push(JSON.parse((await read()).toString()) as WorkspaceFacts);
    else if (list !== '') {
      const rows = (await read()).toString().split('\n').filter(Boolean);
      const key = `${id}/${list}`;
      lists.set(key, [...(lists.get(key) ?? []), ...rows.map((row) => JSON.parse(row) as unknown)]);
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
