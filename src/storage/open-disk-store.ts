import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { explainedByDataDir, keptText, OperatorError } from '../config/index.js';
import type { Database } from '../platform/database/index.js';
import { blobStatements } from './blobs.queries.js';
import { DiskBlobStore } from './disk-blob-store.js';
import { STORE_ID } from './durable-directories.js';
import { expectUsable } from './unusable-blobs.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The store under `DATA_DIR/blobs`, writable and the one whose blobs this database names.
 * @throws OperatorError when it is not
 */
export async function openDiskStore(dataDir: string, database: Database): Promise<DiskBlobStore> {
  const directory = join(dataDir, 'blobs');
  const store = await explained(directory, () => DiskBlobStore.open(resolve(directory)));
  await expectSameStore(database, directory);
  await expectUsable(directory);
  return store;
}

/** Whether `DATA_DIR/blobs` is there, and the one whose blobs this database names. Makes and registers nothing. @throws OperatorError */
export async function hasDiskStore(dataDir: string, database: Database): Promise<boolean> {
  const directory = join(dataDir, 'blobs');
  const registered = await registeredId(database);
  if (registered === undefined) return false;
  return (await explained(directory, () => idIn(join(directory, STORE_ID)))) === registered;
}

/**
 * With another directory than its own, a database's downloads would fail, and its sweeper would strike off blobs whose
 * bytes stay elsewhere for ever. The directory and the database therefore carry the same id.
 *
 * The database is asked first: a directory has its id on disk before any database learns of it, so that of two
 * instances that start at once neither finds an id in the database and none yet in the directory.
 */
async function expectSameStore(database: Database, directory: string): Promise<void> {
  const path = join(directory, STORE_ID);
  const registered = await registeredId(database);
  if (registered === undefined) {
    const own = await explained(directory, () => keptText(path, randomUUID));
    if (!UUID.test(own)) throw new OperatorError(`${path} is damaged; restore it from a backup of DATA_DIR.`);
    await database.run(blobStatements.registerStore, ['disk', own]);
  }
  const expected = registered ?? (await registeredId(database));
  if ((await explained(directory, () => idIn(path))) === expected) return;
  throw new OperatorError(
    `${directory} is not the blob directory that this database belongs to; set DATA_DIR to that one, and let all instances share it.`,
  );
}

async function registeredId(database: Database): Promise<string | undefined> {
  const [row] = await database.run<{ id: string }>(blobStatements.storeId, ['disk']);
  return row?.id;
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
