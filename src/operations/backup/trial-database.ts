import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Configuration, OperatorError } from '../../platform/config/index.js';
import { Database, hasEmbeddedPostgres, sqlState } from '../../platform/database/index.js';
import type { Finding } from '../../platform/doctor.js';
import { backupStatements } from './backup.queries.js';

const DENIED = '42501';

interface Place {
  readonly name: string;
  readonly locale: string;
}

/** The service's database with its encoding and locale: the defaults of the server may differ, such as SQL_ASCII. */
const PLACE = `
  SELECT datname AS name,
         format('ENCODING %L LC_COLLATE %L LC_CTYPE %L', pg_encoding_to_char(encoding), datcollate, datctype) AS locale
  FROM pg_database WHERE datname = current_database()`;

/** The name of the trial of a database; always the same, so that the next trial removes the database that a dead one has left. */
const nameFor = (database: string): string =>
  `verify_${createHash('sha256').update(database).digest('hex').slice(0, 16)}`;

/** The same server and user, with another database. */
function withDatabase(url: string, name: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?]*)(?:\/[^?]*)?/, `$1/${name}`);
}

/**
 * Passes `work` the URL of an empty database on the service's own server, and drops it afterwards. The caller must hold the lock
 * of the backups.
 * @throws OperatorError when the role may not create databases
 */
export async function onTrialDatabase<T>(
  database: Database,
  url: string,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const client = database.dedicatedClient('backup trial', 0);
  client.on('error', () => undefined); // the current statement fails too
  await client.connect();
  try {
    const { rows } = await client.query<Place>(PLACE);
    const name = nameFor(rows[0]?.name ?? '');
    const drop = `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`;
    await client.query(drop);
    await client.query(`CREATE DATABASE ${name} TEMPLATE template0 ${rows[0]?.locale ?? ''}`);
    try {
      return await work(withDatabase(url, name));
    } finally {
      await client.query(drop);
    }
  } catch (error) {
    if (sqlState(error) !== DENIED) throw error;
    throw new OperatorError(
      'The backup cannot be verified: there is no embedded PostgreSQL here, and the role of DATABASE_URL may not create a database for the trial; give it CREATEDB.',
      { cause: error },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Checks that scheduled backups can be verified, and that they are stored apart from the blobs. */
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

  /** @param hasServer whether a trial can start its own PostgreSQL */
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
