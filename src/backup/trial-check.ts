import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Database, hasEmbeddedPostgres, statement } from '../platform/database/index.js';
import type { Finding } from '../platform/doctor/index.js';

const mayCreate = statement(
  'trial.may_create',
  'SELECT rolname AS role, rolcreatedb OR rolsuper AS "mayCreate" FROM pg_roles WHERE rolname = current_user',
);

/** Checks that scheduled backups can be verified, before the first one cannot. */
@Injectable()
export class TrialCheck {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
  ) {}

  /** @param hasServer whether a trial can start a PostgreSQL of its own */
  async *privilege(hasServer = hasEmbeddedPostgres()): AsyncGenerator<Finding> {
    const { backupDir, databaseUrl } = this.configuration;
    if (backupDir === undefined || databaseUrl === undefined || hasServer) return;
    const [found] = await this.database.run<{ role: string; mayCreate: boolean }>(mayCreate, []);
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
