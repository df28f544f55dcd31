import { Global, Module } from '@nestjs/common';
import { join } from 'node:path';
import { Configuration } from '../../config/index.js';
import { BlobSweeper } from './blob-sweeper.js';
import { BlobStore } from './blob-store.js';
import { Blobs } from './blobs.js';
import { DiskBlobStore } from './disk-blob-store.js';

@Global()
@Module({
  providers: [
    Blobs,
    BlobSweeper,
    {
      provide: BlobStore,
      inject: [Configuration],
      useFactory: ({ dataDir }: Configuration) => new DiskBlobStore(join(dataDir, 'blobs')),
    },
  ],
  exports: [Blobs, BlobSweeper],
})
export class BlobsModule {}
