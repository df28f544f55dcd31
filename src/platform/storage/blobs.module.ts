import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Configuration } from '../config/index.js';
import { Database } from '../database/index.js';
import { Doctor, DoctorModule } from '../doctor/index.js';
import { Background } from '../jobs/index.js';
import { Log } from '../log/index.js';
import { BlobPreview } from './blob-preview.js';
import { BlobEntity } from './blob.entity.js';
import { BlobLeftover } from './blob-leftover.entity.js';
import { BlobMetrics } from './blob-metrics.js';
import { BlobMover } from './blob-mover.js';
import { BlobStores } from './blob-stores.js';
import { BlobSweeper } from './blob-sweeper.js';
import { BlobUpkeep } from './blob-upkeep.js';
import { Blobs } from './blobs.js';
import { ByteRemover } from './byte-remover.js';
import { BytesCheck } from './bytes-check.js';
import { FreeSpace } from './free-space.js';
import { OrphanedCopies } from './orphaned-copies.js';
import { openStores } from './open-stores.js';
import { OrphansCheck } from './orphans-check.js';
import { RegisteredStore } from './registered-store.entity.js';
import { StoreAdoption } from './store-adoption.js';
import { StoreCheck } from './store-check.js';
import { SweepingCheck } from './sweeping-check.js';

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
    // Rows are repaired first: what a sweep deletes may be what a row should refer to.
    doctor.addCheck((examination) => bytes.stored(examination));
    doctor.addCheck((examination) => bytes.inline(examination));
    doctor.addCheck((examination) => sweeping.overdue(examination));
    doctor.addCheck((examination) => orphans.orphans(examination));
  }
}
