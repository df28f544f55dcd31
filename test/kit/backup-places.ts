import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackupDirectory, BackupPlaces } from '../../src/operations/backup/index.js';
import { adminReport } from './admin.js';
import { createDatabase, startService, type TestService } from './index.js';
import type { ProcessEnv } from './process.js';
import { useInTests } from './use-in-tests.js';

const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
export const PARTIAL = 'partial-2026-01-01T040000.000Z';

/** The settings of a service with backups in a place, equal except database and DATA_DIR. */
export const envOf = ({ database, dataDir }: TestService, place: string): ProcessEnv => ({
  ...SETTINGS,
  BACKUP_DIR: place,
  BACKUP_KEEP: '1',
  DATABASE_URL: database.url,
  DATA_DIR: dataDir,
});

export const refusalOf = (place: string): string =>
  `${place} belongs to another database; use a place of its own for this one, or \`backup run --adopt\` if that database is lost or no longer used.`;

/** Marks a place as a run does at its beginning. */
export const claim = ({ app }: TestService, place: string, adopt = false): Promise<string> =>
  app.get(BackupPlaces).claim(new BackupDirectory(place), adopt);

export const scheduledIn = async (place: string): Promise<string[]> =>
  (await readdir(place)).filter((name) => name.startsWith('scheduled-')).sort();

/** Turns a backup into one of an earlier version. @returns the database id that it had */
export async function asEarlier(place: string, name: string): Promise<string | undefined> {
  const path = join(place, name, 'manifest.json');
  const { database, ...manifest } = JSON.parse(await readFile(path, 'utf8')) as { database?: string };
  await writeFile(path, JSON.stringify(manifest));
  return database;
}

/** Call outside of all tests. Two services with databases of their own. */
export function useTwoServices(): BackupPlacesOfTwo {
  return useInTests(new BackupPlacesOfTwo());
}

export class BackupPlacesOfTwo {
  home!: string;
  ours!: TestService;
  theirs!: TestService;

  readonly open = async () => {
    this.home = await mkdtemp(join(tmpdir(), 'sync-places-'));
    const env = { ...SETTINGS, BACKUP_DIR: join(this.home, 'unused'), METRICS_PORT: '0' };
    this.ours = await startService({ env });
    this.theirs = await startService({ env });
    for (const service of [this.ours, this.theirs]) {
      const notes = await (await service.user('alice')).workspace('notes');
      await notes.put('file', randomBytes(3000)).expect(201);
    }
  };

  readonly close = async () => {
    await this.ours.close();
    await this.theirs.close();
    await rm(this.home, { recursive: true });
  };

  readonly beginTest = async () => {
    for (const { database } of [this.ours, this.theirs]) await database.query('TRUNCATE job_runs');
  };

  readonly newPlace = (): Promise<string> => mkdtemp(join(this.home, 'backups-'));

  /** Restores a backup into a new database. @returns the settings of the original with that database */
  async drillFrom(backup: string, original: ProcessEnv): Promise<ProcessEnv> {
    const database = await createDatabase();
    const env = {
      ...original,
      DATABASE_URL: database.url,
      DATA_DIR: await mkdtemp(join(this.home, 'data-')),
    };
    await adminReport(env, 'backup', 'restore', backup);
    return env;
  }
}
