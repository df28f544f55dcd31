import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Report } from '../../../src/operations/admin/with-service.js';
import { adminReport } from '../../kit/admin.js';
import { envOf, refusalOf, claim, scheduledIn, asEarlier, useTwoServices } from '../../kit/backup-places.js';

const two = useTwoServices();

describe('a copy restored from a backup, with the settings of the original', () => {
  it('is refused the place of the original, whether that is marked or not', async () => {
    const place = await two.newPlace();
    const env = envOf(two.ours, place);
    await adminReport(env, 'backup', 'run');
    const [name = ''] = (await readdir(place)).filter((entry) => entry.startsWith('scheduled-'));
    const drill = await two.drillFrom(join(place, name), env);
    const run = (): Promise<Report> => adminReport(drill, 'backup', 'run');
    await expect(run()).rejects.toThrow(refusalOf(place));

    await rm(join(place, 'database-id'));
    const foreign = `${place} has a backup of another database (${name})`;
    await expect(run()).rejects.toThrow(`${foreign}; use a place of its own`);
    expect(await asEarlier(place, name)).toMatch(/^[0-9a-f-]{36}$/);
    const unclean = `${foreign}, or of a run of this one that was killed or failed after it; use a place of its own`;
    await expect(run()).rejects.toThrow(unclean);
    await expect(run()).rejects.toThrow(unclean);
    expect(await readdir(place)).toEqual([name]);
    await claim(two.ours, place);
    await expect(run()).rejects.toThrow(refusalOf(place));
  });
});

describe('a backup place that an earlier version has used without a mark', () => {
  it('is refused to a database that has never made a backup, and to one that has made others', async () => {
    const place = await two.newPlace();
    await adminReport(envOf(two.ours, place), 'backup', 'run');
    await rm(join(place, 'database-id'));
    const [name = ''] = await readdir(place);
    const manifest = join(place, name, 'manifest.json');
    const earlier = { ...(JSON.parse(await readFile(manifest, 'utf8')) as object), database: undefined };
    await writeFile(manifest, JSON.stringify(earlier));
    const isRefused = (): Promise<void> =>
      expect(adminReport(envOf(two.theirs, place), 'backup', 'run')).rejects.toThrow(
        `${place} has a backup of another database (${name})`,
      );
    await isRefused();
    await isRefused(); // the row of the first run does not count
    await two.theirs.database.query(
      `INSERT INTO job_runs (name, started_at, ended_at)
       SELECT 'backup', now() - interval '2 days' + n * interval '1 minute', now() - interval '2 days' + n * interval '1 minute'
       FROM generate_series(1, 3) n`,
    );
    await isRefused();
    expect(await readdir(place)).toEqual([name]);
    await claim(two.ours, place);
  });

  it('can be claimed by the database of its backups after a run that was killed', async () => {
    const place = await two.newPlace();
    const env = { ...envOf(two.ours, place), BACKUP_KEEP: '3' };
    await adminReport(env, 'backup', 'run');
    const [killed = ''] = await scheduledIn(place);
    await rm(join(place, 'database-id'));
    await asEarlier(place, killed);
    await two.ours.database.query(`UPDATE job_runs SET ended_at = NULL`);
    await expect(adminReport(env, 'backup', 'run')).rejects.toThrow(
      `(${killed}), or of a run of this one that was killed or failed after it`,
    );
    await claim(two.ours, place, true);
    await adminReport(env, 'backup', 'run');
    await rm(join(place, 'database-id'));
    for (const name of await scheduledIn(place)) await asEarlier(place, name); // run by an earlier version
    await expect(adminReport(envOf(two.theirs, place), 'backup', 'run')).rejects.toThrow('another database');
    expect(await adminReport({ ...env, BACKUP_KEEP: '1' }, 'backup', 'run')).toMatchObject({ removed: 2 });
  });

  it('is claimed by the database of its backups, even if their runs are no longer recorded', async () => {
    const place = await two.newPlace();
    const at = new Date(Date.now() - 60_000);
    const name = `scheduled-${at.toISOString().replaceAll(':', '')}`;
    await adminReport(envOf(two.ours, ''), 'backup', 'create', join(place, name));
    const manifest = join(place, name, 'manifest.json');
    const earlier = { ...(JSON.parse(await readFile(manifest, 'utf8')) as object), database: undefined };
    await writeFile(manifest, JSON.stringify(earlier));
    await two.ours.database.query(
      `INSERT INTO job_runs (name, started_at, ended_at)
       SELECT 'backup', $1::timestamptz + n * interval '1 millisecond', $1::timestamptz + n * interval '2 milliseconds'
       FROM generate_series(1, 99) n`,
      [at],
    );
    await expect(claim(two.ours, place)).rejects.toThrow('has a backup of another database');
    await two.ours.database.query(`INSERT INTO job_runs (name, started_at) VALUES ('backup', now())`); // running
    await claim(two.ours, place);
  });
});
