import type { Database } from '../database/index.js';
import type { StoreLocation } from './blob-store.js';
import { RegisteredStore } from './storage.entities.js';

/** The file in a directory, or the object in a bucket, that has the id of the store. No blob has such a key. */
export const STORE_ID = 'store-id';

export const isStoreId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** The id of the store that belongs to this database; undefined before one is registered. */
export async function registeredId(database: Database, location: StoreLocation): Promise<string | undefined> {
  const stores = database.dataSource.getRepository(RegisteredStore);
  return (await stores.findOneBy({ location }))?.id;
}

/** The first registered id stays. */
export async function registerStore(database: Database, location: StoreLocation, id: string): Promise<void> {
  const stores = database.dataSource.getRepository(RegisteredStore);
  await stores.createQueryBuilder().insert().values({ location, id }).orIgnore().execute();
}
