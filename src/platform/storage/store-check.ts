import { Injectable } from '@nestjs/common';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { Configuration } from '../config/index.js';
import { Metrics } from '../metrics/index.js';
import { blobKey } from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { diskSpace } from './free-space.js';
import { STORE_ID } from './durable-directories.js';

const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Checks that the store for new blobs works. */
@Injectable()
export class StoreCheck {
  private looking: Promise<void> | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly stores: BlobStores,
    metrics: Metrics,
  ) {
    metrics.gauge('cloud_sync_data_dir_free_bytes', 'Free space on the disk of DATA_DIR', [], async () => {
      const { free } = await diskSpace(configuration.dataDir);
      return free === undefined ? [] : [{ value: free }];
    });
  }

  /**
   * Concurrent callers share one check; it may take as long as the store does.
   * @throws when bytes could not be stored
   */
  look(): Promise<void> {
    this.looking ??= this.lookNow().finally(() => (this.looking = undefined));
    return this.looking;
  }

  private async lookNow(): Promise<void> {
    await this.stores.main.sizeOf(blobKey(NOBODY, NOBODY)); // throws if the disk store's directory is not its own
    if (this.stores.main.location !== 'disk') return;
    const directory = join(this.configuration.dataDir, 'blobs');
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    await access(join(directory, STORE_ID), constants.R_OK);
    if ((await diskSpace(directory)).free === 0) throw new Error('the disk of the blobs is full');
  }
}
