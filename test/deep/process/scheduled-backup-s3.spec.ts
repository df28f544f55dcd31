import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesOf } from '../../../src/operations/backup/backup-parts.js';
import { BackupSchedule } from '../../../src/operations/backup/backup-schedule.js';
import { Backups } from '../../../src/operations/backup/index.js';
import { TrialCheck } from '../../../src/operations/backup/trial-database.js';
import { adminReport } from '../../kit/admin.js';
import { Exposition } from '../../kit/exposition.js';
import type { ProxiedRequest } from '../../kit/fault-proxy.js';
import { createDatabase, startService } from '../../kit/index.js';
import { scrub } from '../../kit/oracles.js';
import { describeWithTestServers } from '../../kit/s3.js';
import { SETTINGS, OLD, NEW, LARGE, useBackupsInS3 } from '../../kit/scheduled-backups-s3.js';

describeWithTestServers('scheduled backups in S3', () => {
  const scheduled = useBackupsInS3();

  const placeOf = (name: string): string => `s3://${scheduled.bucket}/of/notes/${name}`;

  it('are streamed, verified from the store, listed, reported, and restored on another machine', async () => {
    await scheduled.service.app.get(BackupSchedule).runIfDue();
    expect(scheduled.service.logged()).not.toContain('the scheduled backup failed');
    const listed = await scheduled.admin('backup', 'list');
    const [{ name } = { name: '' }] = listed['backups'] as { name: string }[];
    expect(listed['backups']).toEqual([
      expect.objectContaining({ name: NEW, state: 'verified', blobs: { count: 3, bytes: LARGE + 6000 } }),
    ]);
    const { text } = await Exposition.of(scheduled.service);
    expect(text).toMatch(/^cloud_sync_backup_last_verified_timestamp_seconds \d/m);
    expect(
      (await readdir(scheduled.service.dataDir)).filter((name) => name.startsWith('backup-trial')),
    ).toEqual([]);

    const read = scheduled.proxy.requests.filter(
      ({ method, path }) => method === 'GET' && path.includes('/blobs/'),
    );
    expect(new Set(read.map(({ path }) => path)).size).toBe(3); // the trial has read the stored bytes
    const database = await createDatabase();
    const place = {
      ...scheduled.env,
      BACKUP_DIR: '',
      DATABASE_URL: database.url,
      DATA_DIR: await mkdtemp(join(scheduled.home, 'data-')),
    };
    expect(await adminReport(place, 'backup', 'restore', placeOf(name), '--dry-run')).toMatchObject({
      dryRun: true,
    });
    await adminReport(place, 'backup', 'restore', placeOf(name));
    expect(await scrub(database, place.DATA_DIR)).toBe(3);
    await database.drop();
  });

  it('are kept BACKUP_KEEP times; backups by hand stay, and can be verified there', async () => {
    await scheduled.plant(...OLD, 'scheduled-2026-01-03T040000.000Z');
    const byHand = placeOf('by-hand');
    expect(await scheduled.admin('backup', 'create', byHand)).toMatchObject({ damaged: [] });
    await expect(scheduled.admin('backup', 'create', byHand)).rejects.toThrow(`${byHand} is not empty`);
    expect(await scheduled.admin('backup', 'verify', byHand)).toMatchObject({ isWhole: true });
    expect(await scheduled.admin('backup', 'run')).toMatchObject({ kept: 2, removed: 2 });
    expect(await scheduled.states()).toEqual([
      ['scheduled-2026-01-03T040000.000Z', 'verified'],
      ['by-hand', 'by hand'],
      [NEW, 'verified'],
    ]);
  });

  it('that the store has damaged stay unverified, and remove no verified one', async () => {
    await scheduled.plant(...OLD);
    const create = Reflect.get(Backups.prototype, 'create');
    jest.spyOn(Backups.prototype, 'create').mockImplementation(async function (
      this: Backups,
      place,
      options,
    ) {
      const manifest = await create.call(this, place, options);
      const [id = ''] = await scheduled
        .objects()
        .below(`${place.split('/').at(-1)}/blobs`)
        .names();
      const isPart = ({ method, path }: ProxiedRequest): boolean =>
        method === 'PUT' &&
        path.startsWith(`/${scheduled.bucket}/of/notes/`) &&
        path.includes(`/blobs/${id}/`) &&
        !path.includes('?');
      const key = scheduled.proxy.requests.find(isPart)!.path;
      await scheduled
        .objects()
        .put(key.slice(`/${scheduled.bucket}/of/notes/`.length), bytesOf('x'.repeat(3000)));
      return manifest;
    });
    const failed = scheduled.admin('backup', 'run');
    await expect(failed).rejects.toThrow(/^The backup is kept as scheduled-\S+: .*blob \S+ is damaged\.$/);
    expect(await scheduled.states()).toEqual([...OLD.map((name) => [name, 'verified']), [NEW, 'unverified']]);
  });

  it('fail with one sentence for wrong keys, a missing bucket and a malformed place', async () => {
    const wrong = { ...scheduled.env, BACKUP_S3_SECRET_KEY: 'not-the-key' };
    await expect(adminReport(wrong, 'backup', 'list')).rejects.toThrow('refuses this BACKUP_S3_SECRET_KEY');
    await expect(scheduled.admin('backup', 'list')).rejects.toThrow(
      `has no bucket ${scheduled.bucket}; check its name`,
    );
    await expect(scheduled.admin('backup', 'restore', 's3://x')).rejects.toThrow(
      'must be s3://bucket/prefix',
    );
    await scheduled.plant();
    await expect(scheduled.admin('backup', 'verify', placeOf('nothing'))).rejects.toThrow(
      `${placeOf('nothing')} does not contain a complete backup: manifest.json cannot be read.`,
    );
    const without = {
      ...scheduled.env,
      BACKUP_DIR: '',
      BACKUP_S3_ENDPOINT: '',
      BACKUP_S3_ACCESS_KEY: '',
      BACKUP_S3_SECRET_KEY: '',
    };
    await expect(adminReport(without, 'backup', 'verify', placeOf('nothing'))).rejects.toThrow(
      'There is no S3 store; set BACKUP_S3_ENDPOINT',
    );
  });

  it('in the bucket of the blobs work with the keys of the blobs, and doctor reports it', async () => {
    const beside = await startService({
      env: {
        ...SETTINGS,
        ...scheduled.s3.env(scheduled.bucket),
        BACKUP_DIR: `s3://${scheduled.bucket}/backups`,
      },
    });
    expect(beside.logged()).toContain('BACKUP_DIR is in the bucket of the blobs');
    const found = [];
    for await (const finding of beside.app.get(TrialCheck).place()) found.push(finding);
    expect(found).toMatchObject([
      { fault: 'backups beside blobs', subject: `s3://${scheduled.bucket}/backups` },
    ]);
    await (await (await beside.user('bob')).workspace('notes')).put('large', randomBytes(3000)).expect(201);
    await beside.app.get(Backups).create(`s3://${scheduled.bucket}/backups/one`);
    expect(await beside.app.get(Backups).create(`s3://${scheduled.bucket}/backups/two`)).toMatchObject({
      blobs: { count: 1, bytes: 3000 },
    });
    await beside.close();
  });
});
