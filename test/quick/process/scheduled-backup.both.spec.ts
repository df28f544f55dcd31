import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Report } from '../../../src/operations/admin/with-service.js';
import { Doctor, type Finding } from '../../../src/platform/doctor.js';
import { adminReport } from '../../kit/admin.js';
import { Exposition } from '../../kit/exposition.js';
import { createDatabase } from '../../kit/index.js';
import { scrub } from '../../kit/oracles.js';
import { itDeep } from '../../kit/rounds.js';
import { DAY, FILES, schedule, useScheduledBackups } from '../../kit/scheduled-backups.js';

const scheduled = useScheduledBackups();

/** Makes a scheduled backup with two instances while a blob in use has the hash of other bytes. @returns the blob's id */
async function runWithDamage(): Promise<string> {
  const [{ id, sha256 }] = (await scheduled.first.database.query(
    `UPDATE blobs SET sha256 = reverse(sha256) WHERE id = (SELECT min(id::text)::uuid FROM blobs WHERE state = 'live')
     RETURNING id, reverse(sha256) AS sha256`,
  )) as [{ id: string; sha256: string }];
  try {
    const { first, second } = scheduled;
    await Promise.all([first, second].map((service) => schedule(service).runIfDue()));
  } finally {
    await scheduled.first.database.query('UPDATE blobs SET sha256 = $2 WHERE id = $1', [id, sha256]);
  }
  return id;
}

async function restored(backup: string): Promise<void> {
  const database = await createDatabase();
  const dataDir = await mkdtemp(join(scheduled.home, 'data-'));
  await adminReport(
    { ...scheduled.env, DATABASE_URL: database.url, DATA_DIR: dataDir },
    'backup',
    'restore',
    backup,
  );
  expect(await scrub(database, dataDir)).toBe(FILES);
  await database.drop();
}

describe('a scheduled backup', () => {
  itDeep('is made once by two instances, is verified, listed and reported, and can be restored', async () => {
    const before = await Exposition.of(scheduled.first);
    expect(before.text).not.toMatch(/^cloud_sync_backup_last_verified_timestamp_seconds /m);
    await Promise.all(
      [scheduled.first, scheduled.second, scheduled.first, scheduled.second].map((service) =>
        schedule(service).runIfDue(),
      ),
    );
    const rows = await scheduled.runs();
    expect(rows.length).toBe(1);
    expect(rows).toEqual([
      expect.objectContaining({ name: 'backup', error: null, endedAt: expect.any(Date) as Date }),
    ]);
    expect(rows[0]!.counts).toMatchObject({ blobs: FILES, blobBytes: 3 * 3000, kept: 1, removed: 0 });
    const found = await scheduled.names();
    expect(found).toEqual([expect.stringMatching(/^scheduled-\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z$/)]);
    expect((await stat(join(scheduled.backups, found[0]!))).mode & 0o077).toBe(0);

    for (const service of [scheduled.first, scheduled.second]) {
      const { text } = await Exposition.of(service);
      const verified = /^cloud_sync_backup_last_verified_timestamp_seconds (\S+)$/m.exec(text)?.[1];
      expect(Number(verified)).toBeCloseTo(rows[0]!.startedAt.getTime() / 1000, 2);
      expect(text).toMatch(/^cloud_sync_backup_overdue_seconds 0$/m);
    }
    const listed = await scheduled.admin('backup', 'list');
    expect(listed['backups']).toEqual([
      expect.objectContaining({ name: found[0], state: 'verified', blobs: { count: FILES, bytes: 9000 } }),
    ]);
    expect(listed.text).toMatch(/^scheduled-\S+ {2}verified {2}\S+Z {2}1 accounts, 1 workspaces, 3 versions/);
    await restored(join(scheduled.backups, found[0]!));

    await schedule(scheduled.second).runIfDue();
    expect(await scheduled.runs()).toHaveLength(1);
  });

  itDeep('is kept BACKUP_KEEP times: the oldest are removed, but no entries of the operator', async () => {
    for (const time of ['2026-01-01T040000.000Z', '2026-01-02T040000.000Z', '2926-01-01T040000.000Z'])
      await scheduled.planted(time);
    await mkdir(join(scheduled.backups, 'unverified-by me'));
    await mkdir(join(scheduled.backups, 'partial-copy'));
    await scheduled.admin('backup', 'run');
    expect((await scheduled.runs())[0]!.counts).toMatchObject({ removed: 2 });
    expect((await scheduled.names()).sort()).toEqual([
      'partial-copy',
      'scheduled-2026-01-02T040000.000Z', // the one of a wrong clock, in the future, counts as the oldest
      expect.stringMatching(/^scheduled-/),
      'unverified-by me',
    ]);
  });

  it('that fails its verification removes no verified one, and replaces the last failed one', async () => {
    for (const time of ['2026-01-01T040000.000Z', '2026-01-02T040000.000Z', '2026-01-03T040000.000Z'])
      await scheduled.planted(time);
    await mkdir(join(scheduled.backups, 'unverified-2026-01-04T040000.000Z'));
    await runWithDamage();
    const found = (await scheduled.names()).sort();
    expect(found).toEqual([
      'scheduled-2026-01-01T040000.000Z',
      'scheduled-2026-01-02T040000.000Z',
      'scheduled-2026-01-03T040000.000Z',
      expect.stringMatching(/^unverified-/),
    ]);
    expect(found[3]).not.toBe('unverified-2026-01-04T040000.000Z');
    expect(await scheduled.runs()).toHaveLength(1);
    expect((await scheduled.runs())[0]!.error).toMatch(
      `The backup is kept as ${found[3]}: The backup has 1 faults`,
    );
    expect(scheduled.first.logged() + scheduled.second.logged()).toContain('the scheduled backup failed');
    const { text } = await Exposition.of(scheduled.second);
    expect(text).toMatch(/^cloud_sync_job_last_success\{name="backup"\} 0$/m);
    expect(text).not.toMatch(/^cloud_sync_backup_last_verified_timestamp_seconds /m);
  });
});

describe('a backup of a service with unswept blobs and wrong counters', () => {
  const dying = randomUUID();
  const DRIFT = [
    'UPDATE workspaces SET document_bytes = document_bytes + $1',
    'UPDATE storage_accounts SET used_bytes = used_bytes + $1',
  ];
  beforeEach(async () => {
    await scheduled.first.database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, created_at, not_before)
       VALUES ($1, $2, 'dying', 'disk', 3000, repeat('0', 64), $3, $3)`,
      [scheduled.notes.id, dying, new Date(Date.now() - 2 * DAY)],
    );
    await scheduled.first.database.query(
      'INSERT INTO storage_accounts (user_id, used_bytes) SELECT user_id, 0 FROM workspaces ON CONFLICT DO NOTHING',
    );
    for (const sql of DRIFT) await scheduled.first.database.query(sql, [7]);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    for (const sql of DRIFT) await scheduled.first.database.query(sql, [-7]);
    await scheduled.first.database.query('DELETE FROM blobs WHERE id = $1', [dying]);
  });

  const NOTES = ['not swept', 'quota drift', 'usage drift'];
  const kindsOf = (findings: unknown): string[] => (findings as Finding[]).map(({ fault }) => fault).sort();
  const verifyNewest = async (): Promise<Report> =>
    scheduled.admin(
      'backup',
      'verify',
      join(scheduled.backups, (await scheduled.names()).sort().at(-1) ?? ''),
    );

  itDeep('is verified as intact, with notes', async () => {
    await schedule(scheduled.first).runIfDue();
    expect(await scheduled.names()).toEqual([expect.stringMatching(/^scheduled-/)]);
    expect(await scheduled.runs()).toEqual([expect.objectContaining({ error: null })]);
    const { text, exitCode, isWhole, findings, notes: noted } = await verifyNewest();
    expect({ exitCode, isWhole, findings }).toEqual({ exitCode: undefined, isWhole: true, findings: [] });
    expect(kindsOf(noted)).toEqual(NOTES);
    expect(text).toMatch(/^The backup is intact: .*\n(?:note: .*\n?){3}$/);
    expect(text).toContain('\nnote: blobs past their grace: 1 have been waiting for the sweeper too long.');
  });

  itDeep('is faulty when a blob is damaged', async () => {
    const id = await runWithDamage();
    expect((await scheduled.runs())[0]!.error).toMatch(
      new RegExp(
        `: The backup has 1 faults: [^;]*; ${scheduled.notes.id}/${id}: It has no bytes in the disk store\\.$`,
      ),
    );
    const { exitCode, isWhole, findings, notes: noted } = await verifyNewest();
    expect({ exitCode, isWhole }).toEqual({ exitCode: 1, isWhole: false });
    expect([kindsOf(findings), kindsOf(noted)]).toEqual([['bytes missing or damaged'], NOTES]);
  });

  itDeep('is faulty when the doctor reports an unknown fault', async () => {
    const unknown = {
      fault: 'something new',
      subject: 'it',
      problem: 'Is new.',
      cure: 'None.',
      isFixed: false,
    };
    await scheduled.admin('backup', 'run');
    jest.spyOn(Doctor.prototype, 'examine').mockImplementation(async function* () {
      yield await Promise.resolve(unknown);
    });
    expect(await verifyNewest()).toMatchObject({
      exitCode: 1,
      isWhole: false,
      findings: [unknown],
      notes: [],
    });
  });
});
