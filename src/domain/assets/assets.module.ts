import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule } from '../billing/index.js';
import { Doctor } from '../../platform/doctor/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { Asset } from './asset.entity.js';
import { AssetDownload } from './asset-download.js';
import { AssetIdempotencyKey } from './asset-idempotency-key.entity.js';
import { AssetUploads } from './asset-uploads.js';
import { AssetsController } from './assets.controller.js';
import { Assets } from './assets.service.js';
import { IdempotencyKeys } from './idempotency-keys.js';
import { StorageAccount } from './storage-account.entity.js';
import { QuotaCheck, StorageQuota } from './storage-quota.js';
import { UploadBodies } from './upload-bodies.js';

@Module({
  imports: [
    BillingModule,
    WorkspacesModule,
    TypeOrmModule.forFeature([Asset, AssetIdempotencyKey, StorageAccount]),
  ],
  controllers: [AssetsController],
  providers: [AssetDownload, Assets, AssetUploads, IdempotencyKeys, QuotaCheck, StorageQuota, UploadBodies],
  exports: [StorageQuota],
})
export class AssetsModule {
  constructor(
    purge: WorkspacePurge,
    assets: Assets,
    keys: IdempotencyKeys,
    doctor: Doctor,
    check: QuotaCheck,
  ) {
    doctor.addCheck((examination) => check.drift(examination));
    purge.addStep((workspaceId) => assets.purge(workspaceId));
    purge.addStep((workspaceId) => keys.purge(workspaceId));
  }
}
