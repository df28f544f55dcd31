import { Injectable } from '@nestjs/common';
import { Configuration, OperatorError } from '../config/index.js';
import { Database } from '../database/index.js';
import { s3SettingsIn } from './open-stores.js';

/**
 * Whether an empty database has to take over the bucket of one that is lost. A disk store needs none of this, because a new
 * database adopts its directory.
 */
@Injectable()
export class StoreAdoption {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
  ) {}

  /**
   * The id that this database must adopt before its store can be opened; undefined when there is nothing to adopt. Changes
   * nothing.
   * @throws OperatorError when the bucket belongs to another database and must not be adopted, or cannot be used
   */
  async foreignId(mayAdopt: boolean): Promise<string | undefined> {
    if (!this.configuration.hasS3) return undefined;
    const settings = s3SettingsIn(this.configuration);
    const { foreignIdOf } = await import('./s3/index.js');
    const id = await foreignIdOf(settings, this.database);
    if (id === undefined || mayAdopt) return id;
    throw new OperatorError(
      `The bucket ${settings.bucket} belongs to another database; set S3_BUCKET to a bucket of its own, or restore with --adopt-store if that database is lost or no longer used.`,
    );
  }
}
