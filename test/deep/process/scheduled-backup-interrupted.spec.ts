import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { diskSpace } from '../../../src/platform/storage/index.js';
import { BlobFiles } from '../../../src/operations/backup/blob-files.js';
import { DirectoryParts } from '../../../src/operations/backup/backup-directory.js';
import { Backups, BackupTimes } from '../../../src/operations/backup/index.js';
import { adminReport } from '../../kit/admin.js';
import { holdTable, startService } from '../../kit/index.js';
import { SmallDisk, whyNoDisk } from '../../kit/small-disk.js';
import { ADMIN, enterEnvironment, environment } from '../../kit/process.js';
import { SETTINGS, schedule, useScheduledBackups } from '../../kit/scheduled-backups.js';

const scheduled = useScheduledBackups();

describe('an interrupted scheduled backup', () => {
  /** Other statements of the services wait for a held table too. */
  const backupsWait = (count: number): Promise<void> =>
    scheduled.first.database.eventually(
      `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%backup' AND wait_event_type = 'Lock'
         AND datname = current_database() HAVING count(*) = ${count}`,
    );

  /** Kills a backup that has begun its draft and waits for a held table. */
  async function killedHalfWay(): Promise<void> {
    const held = await holdTable(scheduled.first.database, 'versions');
    const child = spawn(process.execPath, [ADMIN, 'backup', 'run'], { env: environment(scheduled.env) });
    const ended = once(child, 'exit');
    await backupsWait(1);
    child.kill('SIGKILL');
    await ended;
    await held.release();
  }

  it('leaves nothing that looks complete, keeps the old ones, and is repeated once', async () => {
    for (const time of ['2026-01-01T040000.000Z', '2026-01-02T040000.000Z']) await scheduled.planted(time);
    await killedHalfWay();
    const [draft = '', ...rest] = (await scheduled.names()).sort();
    expect(rest).toEqual([
      expect.stringMatching(/^partial-trial-/),
      'scheduled-2026-01-01T040000.000Z',
      'scheduled-2026-01-02T040000.000Z',
    ]);
    await expect(scheduled.admin('backup', 'restore', join(scheduled.backups, draft))).rejects.toThrow(
      'does not contain a complete backup',
    );
    expect((await scheduled.admin('backup', 'list'))['backups']).toContainEqual({
      name: draft,
      state: 'partial',
    });

    await scheduled.first.database.eventually(
      `SELECT WHERE NOT EXISTS (SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
                                WHERE locktype = 'advisory' AND objid = 3030222707 AND datname = current_database())`,
    );
    await schedule(scheduled.second).runIfDue();
    const [again, killed] = await scheduled.runs();
    expect(killed).toMatchObject({ endedAt: null, error: 'its process ended before it did' });
    expect(again).toMatchObject({ error: null, counts: { kept: 1, removed: 1 } });
    expect((await scheduled.names()).sort()).toEqual([
      'scheduled-2026-01-02T040000.000Z',
      expect.stringMatching(/^scheduled-/),
    ]);
  });

  it('that has lost its lock makes no backup, and the run that took the lock makes one', async () => {
    const held = await holdTable(scheduled.first.database, 'versions');
    const child = spawn(process.execPath, [ADMIN, 'backup', 'run'], { env: environment(scheduled.env) });
    const ended = once(child, 'exit');
    await backupsWait(1);
    await scheduled.first.database.query(
      `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
       WHERE l.locktype = 'advisory' AND l.objid = 3030222707 AND d.datname = current_database()`,
    );
    const again = scheduled.admin('backup', 'run');
    await backupsWait(2);
    await held.release();
    await again;
    expect(await ended).toEqual([1, null]);
    expect(await scheduled.names()).toEqual([expect.stringMatching(/^scheduled-/)]);
    const [second, lost] = await scheduled.runs();
    expect(second!.error).toBeNull();
    expect(lost!.error).not.toBeNull();
  });

  it('leaves nothing of a draft that another run has removed', async () => {
    const draft = join(scheduled.backups, 'partial-2026-01-01T040000.000Z');
    await scheduled.first.app.get(Backups).create(draft);
    await rm(join(draft, 'blobs'), { recursive: true }); // its list is still being read
    await expect(scheduled.first.app.get(BlobFiles).export(new DirectoryParts(draft))).rejects.toThrow(
      'ENOENT',
    );
    expect(await readdir(draft)).not.toContain('blobs');
  });

  it('does not prevent a shutdown, and is due again afterwards', async () => {
    const third = await startService({
      env: { ...SETTINGS, BACKUP_DIR: scheduled.backups },
      beside: scheduled.first,
    });
    const held = await holdTable(scheduled.first.database, 'versions');
    const made = schedule(third).runIfDue();
    await backupsWait(1);
    await third.close();
    await made;
    await held.release();
    expect(third.logged()).toContain('the scheduled backup was stopped before its end');
    expect(await scheduled.runs()).toEqual([expect.objectContaining({ endedAt: null })]);
    expect(await scheduled.names()).not.toContainEqual(expect.stringMatching(/^(?:scheduled|unverified)/));
    expect(await scheduled.second.app.get(BackupTimes).isDue()).toBe(true);
  });

  it('leaves an old backup whose removal failed under the name of a partial one', async () => {
    const old = '2026-01-01T040000.000Z';
    await scheduled.planted(old);
    await mkdir(join(scheduled.backups, `scheduled-${old}`, 'manifest.json')); // the removal fails here, after one step
    await scheduled.planted('2026-01-02T040000.000Z');
    await scheduled.admin('backup', 'run');
    expect((await scheduled.runs())[0]).toMatchObject({ error: null, counts: { removed: 0 } });
    expect(await scheduled.names()).toContain(`partial-scheduled-${old}`);
    expect(await scheduled.names()).not.toContain(`scheduled-${old}`);
    expect((await scheduled.admin('backup', 'list'))['backups']).toContainEqual({
      name: `partial-scheduled-${old}`,
      state: 'partial',
    });
  });
});

describe('a directory that cannot be written', () => {
  it('fails the run in one sentence, and the service keeps running', async () => {
    const file = join(scheduled.home, 'a-file');
    await writeFile(file, '');
    for (const [path, code] of [
      [file, 'ENOTDIR'],
      [join(scheduled.home, 'not-mounted'), 'ENOENT'],
    ] as const) {
      const back = enterEnvironment({ ...scheduled.env, BACKUP_DIR: path });
      await scheduled.first.database.query('TRUNCATE job_runs');
      await schedule(scheduled.first).runIfDue();
      back();
      const sentence = `BACKUP_DIR ${path} cannot be used (${code}); it must be a directory that the service can write.`;
      expect((await scheduled.runs())[0]!.error).toBe(`OperatorError: ${sentence}`);
      expect(scheduled.first.logged()).toContain(sentence);
    }
    await scheduled.notes.put('after', 'content').expect(201);
    await scheduled.notes.delete('after').expect(200);
  });

  const reason = whyNoDisk();
  (reason ? it.skip : it)('because its disk is full keeps only earlier backups', async () => {
    const disk = SmallDisk.mount(16);
    try {
      const full = { ...scheduled.env, BACKUP_DIR: disk.path };
      await mkdir(join(disk.path, 'scheduled-2026-01-01T040000.000Z'));
      await writeFile(join(disk.path, 'something'), Buffer.alloc((await disk.free()) - 4096));
      await expect(adminReport(full, 'backup', 'run')).rejects.toThrow(
        /cannot be written to .* \(ENOSPC\); what was written of it is removed\.$/,
      );
      expect((await readdir(disk.path)).sort()).toEqual([
        'database-id',
        'scheduled-2026-01-01T040000.000Z',
        'something',
      ]);
      expect((await scheduled.runs())[0]!.error).toContain('ENOSPC');
    } finally {
      disk.unmount();
    }
  });

  it('because it shares a disk with DATA_DIR that uploads need gets no backup', async () => {
    const { total } = await diskSpace(scheduled.backups);
    const tight = { ...scheduled.env, MIN_FREE_BYTES: String(total) };
    await expect(adminReport(tight, 'backup', 'run')).rejects.toThrow('too full for a backup');
    expect(await scheduled.names()).toEqual([]);
  });
});
