import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { blobKey, idsIn, type StoredObject } from './blob-store.js';

const PAGE = 1000;
const DRAFT = /\.tmp$/;

/** The blobs of a directory of blobs, drafts of uploads under way included, workspace by workspace. */
export async function* listing(root: string, workspaceId?: string): AsyncGenerator<StoredObject[]> {
  for (const workspace of workspaceId === undefined ? await namesIn(root) : [workspaceId]) {
    const found: { key: string; path: string }[] = [];
    for (const directory of await namesIn(join(root, workspace))) {
      for (const name of await namesIn(join(root, workspace, directory))) {
        const key = blobKey(workspace, name.replace(DRAFT, ''));
        if (idsIn(key)) found.push({ key, path: join(root, workspace, directory, name) });
      }
    }
    for (let at = 0; at < found.length; at += PAGE) yield await looked(found.slice(at, at + PAGE));
  }
}

async function looked(found: { key: string; path: string }[]): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  for (const { key, path } of found) {
    const stats = await stat(path).catch(ignoreGone);
    if (stats?.isFile()) objects.push({ key, size: stats.size, modifiedAt: stats.mtime });
  }
  return objects;
}

/** What is removed meanwhile, or is no directory, has nothing in it. */
async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(ignoreGone)) ?? [];
}

function ignoreGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}
