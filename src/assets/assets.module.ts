import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/index.js';
import { Database } from '../platform/database/index.js';
import { Doctor } from '../platform/doctor/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { AssetDownload } from './asset-download.js';
import { AssetUploads } from './asset-uploads.js';
import { AssetsController } from './assets.controller.js';
import { assetStatements } from './assets.queries.js';
import { Assets } from './assets.service.js';
import { IdempotencyKeys } from './idempotency-keys.js';
import { QuotaCheck, StorageQuota } from './storage-quota.js';
import { UploadBodies } from './upload-bodies.js';

const PURGE_BATCH = 1000;

@Module({
  imports: [BillingModule, WorkspacesModule],
  controllers: [AssetsController],
  providers: [AssetDownload, Assets, AssetUploads, IdempotencyKeys, QuotaCheck, StorageQuota, UploadBodies],
  exports: [StorageQuota],
})
export class AssetsModule {
  constructor(purge: WorkspacePurge, assets: Assets, database: Database, doctor: Doctor, check: QuotaCheck) {
    doctor.addCheck((examination) => check.drift(examination));
    purge.addStep((workspaceId) => assets.purge(workspaceId));
    purge.addStep(
      async (workspaceId) =>
        (await database.run(assetStatements.purgeKeys, [workspaceId, PURGE_BATCH])).length,
    );
  }
}
