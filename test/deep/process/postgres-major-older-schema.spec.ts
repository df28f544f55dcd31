import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Backups, type Manifest } from '../../../src/operations/backup/index.js';
import { startService } from '../../kit/index.js';
import { THIS_NAMES, PLANTED } from '../../kit/planted-migrations.js';
import { describeWithPostgres } from '../../kit/postgres-majors.js';
import {
  SETTINGS,
  admin,
  whileServing,
  settle,
  readAll,
  tablesOf,
  expectSameContent,
  useReleases,
} from '../../kit/releases.js';

await describeWithPostgres(18, 'from PostgreSQL 17 to 18', (postgres18) => {
  const releases = useReleases();

  /** Makes the release one of a later version: its schema has a column, a table and an index more. */
  async function plantMigrations(release: string): Promise<void> {
    const directory = join(release, 'dist/service');
    let planted = 0;
    for (const name of (await readdir(directory)).filter((file) => file.endsWith('.js'))) {
      const text = await readFile(join(directory, name), 'utf8');
      const changed = text.replace(
        /const migrations = \[(\s*\.\.\.baseline[^\]]*)\];/,
        (_, released: string) => `const migrations = [${released}, ${PLANTED.map(String).join(', ')}];`,
      );
      if (changed === text) continue;
      await writeFile(join(directory, name), changed);
      planted++;
    }
    expect(planted).toBe(1);
  }

  it('a restore on PostgreSQL 18 also migrates an older schema', async () => {
    const service = await startService({ env: SETTINGS });
    const { query } = service.database;
    const later = await releases.releaseWith(postgres18);
    await plantMigrations(later);
    if (process.env.TEST_DATABASE_URL === undefined)
      expect(await query(`SELECT current_setting('server_version_num')::int / 10000 AS major`)).toEqual([
        { major: 17 },
      ]);
    const owner = await settle(service.url);
    const reads = await readAll(service.url, owner);
    const older = join(releases.home, 'backup-of-older-schema');
    expect((await service.app.get(Backups).create(older)).migrations).toEqual(THIS_NAMES);
    await service.close();

    const env = { DATA_DIR: await mkdtemp(join(releases.home, 'data-')) };
    await admin(later, env, 'backup', 'restore', older);
    expect(await readFile(join(env.DATA_DIR, 'postgres/PG_VERSION'), 'utf8')).toBe('18\n');
    const again = join(releases.home, 'backup-of-older-schema-on-18');
    await admin(later, env, 'backup', 'create', again);
    const moved = await expectSameContent(older, again);
    expect(await tablesOf(again)).not.toEqual(await tablesOf(older));
    const migrated = JSON.parse(await readFile(join(again, 'manifest.json'), 'utf8')) as Manifest;
    expect(migrated.migrations).toEqual([...THIS_NAMES, ...PLANTED.map(({ name }) => name)]);
    expect(await admin(later, env, 'doctor', '--deep')).toBe('No problems found\n');
    await whileServing(later, env, async (url) => {
      expect(await readAll(url, owner, moved)).toEqual(reads);
    });
  });
});
