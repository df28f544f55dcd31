import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { explainedByDataDir, keptText, OperatorError } from '../config/index.js';
import type { Database } from '../database/index.js';
import { DiskBlobStore } from './disk-blob-store.js';
import { STORE_ID } from './durable-directories.js';
import { registeredId, registerStore } from './registered-stores.js';
import { expectUsable } from './unusable-blobs.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Opens the store under `DATA_DIR/blobs`, which must be writable and belong to this database.
 * @throws OperatorError otherwise
 */
export async function openDiskStore(dataDir: string, database: Database): Promise<DiskBlobStore> {
  const directory = join(dataDir, 'blobs');
  const store = await explained(directory, () => DiskBlobStore.open(resolve(directory)));
  await expectSameStore(database, directory);
  await expectUsable(directory);
  return store;
}

/**
 * Whether `DATA_DIR/blobs` exists and belongs to this database. Creates and registers nothing.
 * @throws OperatorError
 */
export async function hasDiskStore(dataDir: string, database: Database): Promise<boolean> {
  const directory = join(dataDir, 'blobs');
  const registered = await registeredId(database, 'disk');
  if (registered === undefined) return false;
  return (await explained(directory, () => idIn(join(directory, STORE_ID)))) === registered;
}

/**
 * With a wrong directory, a database's downloads would fail, and its sweeper would delete rows of blobs whose bytes stay
 * elsewhere forever. The directory and the database therefore carry the same id.
 *
 * The database is read first: a directory has its id on disk before the database does, so that of two instances that start at
 * the same time, neither finds an id in the database but none in the directory.
 */
async function expectSameStore(database: Database, directory: string): Promise<void> {
  const path = join(directory, STORE_ID);
  const registered = await registeredId(database, 'disk');
  if (registered === undefined) {
    const own = await explained(directory, () => keptText(path, randomUUID));
    if (!UUID.test(own)) throw new OperatorError(`${path} is damaged; restore it from a backup of DATA_DIR.`);
    await registerStore(database, 'disk', own);
  }
  const expected = registered ?? (await registeredId(database, 'disk'));
  if ((await explained(directory, () => idIn(path))) === expected) return;
  throw new OperatorError(
    `${directory} is not the blob directory that this database belongs to; set DATA_DIR to that one, and let all instances share it.`,
  );
}

async function idIn(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function explained<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainedByDataDir(error, directory);
  }
}
