import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Doctor } from '../../platform/doctor.js';
import { BillingModule } from '../billing/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { AssetDownload } from './asset-download.js';
import { Asset, AssetIdempotencyKey, AssetUploads, IdempotencyKeys } from './asset-uploads.js';
import { AssetsController } from './assets.controller.js';
import { Assets } from './assets.service.js';
import { StorageAccount, StorageQuota } from './storage-quota.js';
import { UploadBodies } from './upload-body.js';

export { STORAGE_USAGE } from './assets.controller.js';
export { StorageQuota, type StorageUsage } from './storage-quota.js';

@Module({
  imports: [
    BillingModule,
    WorkspacesModule,
    TypeOrmModule.forFeature([Asset, AssetIdempotencyKey, StorageAccount]),
  ],
  controllers: [AssetsController],
  providers: [AssetDownload, Assets, AssetUploads, IdempotencyKeys, StorageQuota, UploadBodies],
  exports: [StorageQuota],
})
export class AssetsModule {
  constructor(
    purge: WorkspacePurge,
    assets: Assets,
    keys: IdempotencyKeys,
    doctor: Doctor,
    quota: StorageQuota,
  ) {
    doctor.addCheck((examination) => quota.examine(examination));
    purge.addStep((workspaceId) => assets.purge(workspaceId));
    purge.addStep((workspaceId) => keys.purge(workspaceId));
  }
}
