import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  contentHash,
  decryptAsset,
  decryptAssetName,
  decryptContent,
  decryptPath,
  type VaultKeys,
} from '../../src/automation/vault-crypto.js';
import { filesOf } from './archive.js';
import type { ExportedFile, ExportedVersion, Workspace } from './workspace.js';

export interface Options {
  readonly archive: string;
  /** Where the files go; files that are there already are not replaced. */
  readonly folder: string;
  /** Whether old versions and deleted files are written too. */
  readonly withVersions: boolean;
}

/** How the contents of the archive are written. */
type Task = (envelope: Buffer) => Promise<void>;

/** Decrypts one workspace into the folder. Returns how many files it wrote, and the paths whose content is missing. */
export async function decryptWorkspace(
  workspace: Workspace,
  keys: VaultKeys,
  options: Options,
): Promise<{ written: number; missing: string[] }> {
  const missing: string[] = [];
  const tasks = new Map<string, Task[]>();
  let written = 0;
  const plan = (path: string, content: string | null, open: (envelope: Buffer) => Buffer): void => {
    if (content === null) {
      missing.push(path);
      return;
    }
    const task = async (envelope: Buffer): Promise<void> => {
      await place(join(options.folder, path), open(envelope));
      written++;
    };
    tasks.set(content, [...(tasks.get(content) ?? []), task]);
  };
  planFiles(workspace, keys, options.withVersions, plan);
  for (const { token, content } of workspace.assets)
    plan(join('attachments', decryptAssetName(keys, token)), content, (envelope) =>
      decryptAsset(keys, envelope),
    );

  const prefix = `workspaces/${workspace.facts.id}/`;
  for await (const { name, read } of filesOf(options.archive)) {
    const waiting = name.startsWith(prefix) ? tasks.get(name.slice(prefix.length)) : undefined;
    if (!waiting) continue;
    const envelope = await read();
    for (const task of waiting) await task(envelope);
  }
  return { written, missing };
}

function planFiles(
  { files, versions }: Workspace,
  keys: VaultKeys,
  withVersions: boolean,
  plan: (path: string, content: string | null, open: (envelope: Buffer) => Buffer) => void,
): void {
  const byFile = new Map<string, ExportedVersion[]>();
  for (const version of versions) {
    const known = byFile.get(version.fileId);
    if (known) known.push(version);
    else byFile.set(version.fileId, [version]);
  }
  for (const { id, encryptedPath, version, isDeleted } of files) {
    const path = decryptPath(keys, encryptedPath);
    const open =
      ({ contentHash: hash }: ExportedVersion) =>
      (envelope: Buffer): Buffer => {
        if (contentHash(envelope) !== hash) throw new Error(`${path} is not what its list says`);
        return decryptContent(keys, encryptedPath, envelope);
      };
    for (const one of byFile.get(id) ?? []) {
      const isHead = !isDeleted && one.version === version;
      if (isHead) plan(join('notes', path), one.content, open(one));
      else if (withVersions) plan(join('versions', nameOf(path, one)), one.content, open(one));
    }
    if (!isDeleted && !hasHead(byFile.get(id), version))
      plan(join('notes', path), null, () => Buffer.alloc(0));
  }
}

const hasHead = (versions: readonly ExportedVersion[] = [], head: ExportedFile['version']): boolean =>
  versions.some(({ version }) => version === head);

/** `plan.md` in version 3 is `plan.md/3 2026-11-27T10-00-00Z.md`. */
function nameOf(path: string, { version, createdAt }: ExportedVersion): string {
  const [extension = ''] = /\.[^./]+$/.exec(path) ?? [];
  const time = createdAt.replace(/\.\d+/, '').replaceAll(':', '-');
  return join(path, `${version} ${time}${extension}`);
}

/** Never replaces a file. */
async function place(path: string, content: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content, { flag: 'wx' });
}
