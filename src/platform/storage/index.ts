import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Configuration } from '../config/index.js';
import { Database } from '../database/index.js';
import { Doctor, DoctorModule } from '../doctor.js';
import { Background } from '../jobs/index.js';
import { Log } from '../log.js';
import { BlobMover } from './blob-mover.js';
import { BlobStores } from './blob-store.js';
import { BlobSweeper } from './blob-sweeper.js';
import { BlobMetrics, BlobPreview, BlobUpkeep, SweepingCheck } from './blob-upkeep.js';
import { Blobs } from './blobs.js';
import { ByteRemover } from './byte-remover.js';
import { BytesCheck, StoreCheck } from './bytes-check.js';
import { FreeSpace } from './free-space.js';
import { openStores, StoreAdoption } from './open-stores.js';
import { OrphanedCopies, OrphansCheck } from './orphaned-copies.js';
import { BlobEntity, BlobLeftover, RegisteredStore } from './storage.entities.js';

export { BlobEntity } from './storage.entities.js';
export { BlobPreview, BlobUpkeep } from './blob-upkeep.js';
export { BlobMover, type Moved } from './blob-mover.js';
export { blobKey, type BlobLocation, BlobMissing, type ByteRange, StoreUnavailable } from './blob-store.js';
export { BlobSweeper } from './blob-sweeper.js';
export { type BlobReference, Blobs, type StagedBlob } from './blobs.js';
export { diskSpace, FreeSpace, openObjects } from './free-space.js';
export { HashedBody } from './hashed-body.js';
export type { S3Objects } from './s3/s3-objects.js';
export { StoreAdoption } from './open-stores.js';
export { StoreCheck } from './bytes-check.js';

@Global()
@Module({
  imports: [DoctorModule, TypeOrmModule.forFeature([BlobEntity, BlobLeftover, RegisteredStore])],
  providers: [
    BlobPreview,
    BlobMetrics,
    BlobMover,
    Blobs,
    BlobSweeper,
    BlobUpkeep,
    ByteRemover,
    FreeSpace,
    BytesCheck,
    OrphanedCopies,
    OrphansCheck,
    StoreAdoption,
    StoreCheck,
    SweepingCheck,
    // Depends on the database: an embedded one creates DATA_DIR and sets its mode.
    { provide: BlobStores, inject: [Configuration, Database, Log, Background], useFactory: openStores },
  ],
  exports: [BlobPreview, BlobMover, Blobs, BlobSweeper, BlobUpkeep, FreeSpace, StoreAdoption, StoreCheck],
})
export class BlobsModule {
  constructor(doctor: Doctor, sweeping: SweepingCheck, bytes: BytesCheck, orphans: OrphansCheck) {
    // Rows are repaired first: a sweep might delete bytes that a row should refer to.
    doctor.addCheck((examination) => bytes.stored(examination));
    doctor.addCheck((examination) => bytes.inline(examination));
    doctor.addCheck((examination) => sweeping.overdue(examination));
    doctor.addCheck((examination) => orphans.orphans(examination));
  }
}
