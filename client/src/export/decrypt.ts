import {
  contentHash,
  decryptAsset,
  decryptAssetName,
  decryptContent,
  DecryptionError,
  decryptPath,
  isUnopened,
  type VaultKeys,
} from '../core/index.js';
import { DiskError } from '../folder/index.js';
import { filesOf } from './archive.js';
import type { ExportOutput } from './output.js';
import type { ExportedFile, ExportedVersion, ExportedWorkspace } from './workspace.js';

export interface DecryptOptions {
  readonly archive: string;
  readonly output: ExportOutput;
  /** The directory of this workspace, below the output. */
  readonly directory: string;
  /** Whether old versions and deleted files are written too. */
  readonly withVersions: boolean;
  readonly onProgress?: (path: string) => void;
}

/** The result of decrypting one workspace. */
export class Decrypted {
  written = 0;
  /** Files that were not written, each with the reason as a sentence. */
  readonly leftOver: { readonly path: string; readonly reason: string }[] = [];
}

/** A file to write once the archive reaches its envelope. */
interface Task {
  readonly path: string;
  readonly open: (envelope: Uint8Array) => Promise<Uint8Array>;
}

type Planner = (path: string, content: string | null, open: Task['open']) => void;

/** Decrypts one workspace of an archive. A file that cannot be written does not stop the others. */
export async function decryptWorkspace(
  workspace: ExportedWorkspace,
  keys: VaultKeys,
  options: DecryptOptions,
): Promise<Decrypted> {
  const decrypted = new Decrypted();
  const tasks = tasksOf(workspace, keys, options, decrypted);
  const prefix = `workspaces/${workspace.facts.id}/`;
  for await (const { name, read } of filesOf(options.archive)) {
    const waiting = name.startsWith(prefix) ? tasks.get(name.slice(prefix.length)) : undefined;
    if (!waiting) continue;
    tasks.delete(name.slice(prefix.length));
    const envelope = await read();
    for (const task of waiting) await write(task, envelope, options, decrypted);
  }
  for (const { path } of [...tasks.values()].flat()) leave(decrypted, path, MISSING);
  return decrypted;
}

const MISSING = 'the server no longer had its content';

const leave = ({ leftOver }: Decrypted, path: string, reason: string): number =>
  leftOver.push({ path, reason });

async function write(
  { path, open }: Task,
  envelope: Uint8Array,
  { output, directory, onProgress }: DecryptOptions,
  decrypted: Decrypted,
): Promise<void> {
  try {
    onProgress?.(path);
    await output.write(`${directory}/${path}`, await open(envelope));
    decrypted.written++;
  } catch (error) {
    const isOfFile = [DecryptionError, RangeError, DiskError].some((known) => error instanceof known);
    // If the disk is full or read-only, no other file can be written either.
    const isOfDisk = error instanceof DiskError && ['full', 'read-only'].includes(error.failure);
    if (!isOfFile || isOfDisk) throw error;
    leave(decrypted, path, (error as Error).message);
  }
}

/** Files to write, by the name of their content in the archive. */
function tasksOf(
  workspace: ExportedWorkspace,
  keys: VaultKeys,
  { withVersions }: DecryptOptions,
  decrypted: Decrypted,
): Map<string, Task[]> {
  const tasks = new Map<string, Task[]>();
  const plan: Planner = (path, content, open) => {
    if (content === null) leave(decrypted, path, MISSING);
    else {
      const others = tasks.get(content);
      if (others) others.push({ path, open });
      else tasks.set(content, [{ path, open }]);
    }
  };
  const named = (shown: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (error instanceof TypeError) leave(decrypted, shown, 'its row in the list has another form');
      else if (isUnopened(error)) leave(decrypted, shown, error.message);
      else throw error;
    }
  };
  const versions = new Map<string, ExportedVersion[]>();
  for (const version of workspace.versions) {
    const known = versions.get(version.fileId);
    if (known) known.push(version);
    else versions.set(version.fileId, [version]);
  }
  for (const file of workspace.files)
    named(`a file (${file.id})`, () => planFile(file, versions.get(file.id) ?? [], keys, withVersions, plan));
  for (const { token, content } of workspace.assets)
    named('an attachment', () =>
      plan(`attachments/${decryptAssetName(keys, token)}`, content, (envelope) =>
        decryptAsset(keys, envelope),
      ),
    );
  return tasks;
}

function planFile(
  { encryptedPath, version, isDeleted }: ExportedFile,
  versions: readonly ExportedVersion[],
  keys: VaultKeys,
  withVersions: boolean,
  plan: Planner,
): void {
  const path = decryptPath(keys, encryptedPath);
  const open =
    ({ contentHash: hash }: ExportedVersion) =>
    async (envelope: Uint8Array): Promise<Uint8Array> => {
      if ((await contentHash(envelope)) !== hash) throw new RangeError('it is not what its list says');
      return decryptContent(keys, encryptedPath, envelope);
    };
  for (const one of versions) {
    const isHead = !isDeleted && one.version === version;
    if (isHead) plan(`notes/${path}`, one.content, open(one));
    else if (withVersions) plan(`versions/${nameOf(path, one)}`, one.content, open(one));
  }
  if (!isDeleted && !versions.some((one) => one.version === version)) leaveHead(path, plan);
}

const leaveHead = (path: string, plan: Planner): void =>
  plan(`notes/${path}`, null, () => Promise.resolve(new Uint8Array()));

/** Version 3 of `plan.md` is `plan.md/3 2026-11-27T10-00-00Z.md`. */
function nameOf(path: string, { version, createdAt }: ExportedVersion): string {
  const [extension = ''] = /\.[^./]+$/.exec(path) ?? [];
  const time = createdAt.replace(/\.\d+/, '').replaceAll(/[^0-9TZ-]/g, '-');
  return `${path}/${Math.trunc(version)} ${time}${extension}`;
}
