import { Global, Module } from '@nestjs/common';
import { Configuration } from '../../config/index.js';
import { Database } from '../database/index.js';
import { BlobSweeper } from './blob-sweeper.js';
import { BlobStore } from './blob-store.js';
import { Blobs } from './blobs.js';
import { openDiskStore } from './open-disk-store.js';

@Global()
@Module({
  providers: [
    Blobs,
    BlobSweeper,
    {
      provide: BlobStore,
      // The database comes first: with an embedded one it is that which makes DATA_DIR, and gives it its mode.
      inject: [Configuration, Database],
      useFactory: ({ dataDir }: Configuration, database: Database) => openDiskStore(dataDir, database),
    },
  ],
  exports: [Blobs, BlobSweeper],
})
export class BlobsModule {}
