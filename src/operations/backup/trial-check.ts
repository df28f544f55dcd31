import { Injectable } from '@nestjs/common';
import { Configuration } from '../../platform/config/index.js';
import { Database, hasEmbeddedPostgres } from '../../platform/database/index.js';
import type { Finding } from '../../platform/doctor/index.js';
import { backupStatements } from './backup.queries.js';

/** Checks that scheduled backups can be verified, before the first one cannot, and that they are apart from the blobs. */
@Injectable()
export class TrialCheck {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
  ) {}

  /** A backup in the bucket of the blobs is lost with them. */
  async *place(): AsyncGenerator<Finding> {
    const { backupDir, hasBackupsBesideBlobs } = this.configuration;
    if (backupDir === undefined || !hasBackupsBesideBlobs) return;
    yield await Promise.resolve({
      fault: 'backups beside blobs',
      subject: backupDir,
      problem: 'The backups are in the bucket of the blobs: whoever loses that bucket loses both.',
      cure: 'Let BACKUP_DIR name a bucket of another store or account, with BACKUP_S3_ENDPOINT and its keys.',
      isFixed: false,
    });
  }

  /** @param hasServer whether a trial can start a PostgreSQL of its own */
  async *privilege(hasServer = hasEmbeddedPostgres()): AsyncGenerator<Finding> {
    const { backupDir, databaseUrl } = this.configuration;
    if (backupDir === undefined || databaseUrl === undefined || hasServer) return;
    const [found] = await this.database.run<{ role: string; mayCreate: boolean }>(
      backupStatements.mayCreateDatabase,
      [],
    );
    if (found === undefined || found.mayCreate) return;
    yield {
      fault: 'backups unverified',
      subject: found.role,
      problem: 'The role may not create the database in which a scheduled backup is verified.',
      cure: `Run ALTER ROLE "${found.role}" CREATEDB, or copy the backups to where \`backup verify\` can be run.`,
      isFixed: false,
    };
  }
}
