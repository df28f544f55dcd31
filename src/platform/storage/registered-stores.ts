import type { Database } from '../database/index.js';
import type { StoreLocation } from './blob-store.js';
import { RegisteredStore } from './storage.entities.js';

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
