import { randomUUID } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Report } from '../../../src/operations/admin/with-service.js';
import { BackupSchedule } from '../../../src/operations/backup/backup-schedule.js';
import { DirectoryMark } from '../../../src/operations/backup/backup-places.js';
import { BackupPlaces } from '../../../src/operations/backup/index.js';
import { SETTLING } from '../../../src/operations/backup/place-mark.js';
import { OperatorError } from '../../../src/platform/config/index.js';
import { JobRuns } from '../../../src/platform/jobs/index.js';
import { adminReport } from '../../kit/admin.js';
import { Exposition } from '../../kit/exposition.js';
import { holdTable } from '../../kit/index.js';
import { enterEnvironment } from '../../kit/process.js';
import { itDeep, rounds } from '../../kit/rounds.js';
import {
  PARTIAL,
  envOf,
  refusalOf,
  claim,
  scheduledIn,
  asEarlier,
  useTwoServices,
} from '../../kit/backup-places.js';

const two = useTwoServices();

/** All names below a directory, and the content of the mark. */
async function everythingIn(place: string): Promise<string[]> {
  const names = await readdir(place, { recursive: true });
  return [...names.sort(), await readFile(join(place, 'database-id'), 'utf8').catch(() => 'no mark')];
}

describe('a backup place', () => {
  itDeep('of one service is refused to another before anything changes, and its run fails', async () => {
    const place = await two.newPlace();
    const env = envOf(two.ours, place);
    await adminReport(env, 'backup', 'run');
    await mkdir(join(place, PARTIAL)); // a run of ours that is under way
    await mkdir(join(place, 'unverified-2026-01-01T040000.000Z'));
    const before = await everythingIn(place);

    const leave = enterEnvironment(envOf(two.theirs, place));
    await two.theirs.app.get(BackupSchedule).runIfDue();
    leave();
    expect(await everythingIn(place)).toEqual(before);
    expect(two.theirs.logged()).toContain(`"reason":"${refusalOf(place)}"`);
    expect(await two.theirs.app.get(JobRuns).recent(10)).toMatchObject([
      { name: 'backup', error: `OperatorError: ${refusalOf(place)}` },
    ]);
    expect((await Exposition.of(two.theirs)).text).toMatch(
      /^cloud_sync_job_last_success\{name="backup"\} 0$/m,
    );

    expect(await adminReport(env, 'backup', 'run')).toMatchObject({ kept: 1, removed: 1 });
  });

  it('that is marked is refused to a run of another database, which changes nothing in it', async () => {
    const place = await two.newPlace();
    await claim(two.ours, place);
    for (const name of [PARTIAL, 'scheduled-2026-01-01T040000.000Z']) await mkdir(join(place, name));
    const before = await everythingIn(place);
    await expect(adminReport(envOf(two.theirs, place), 'backup', 'run')).rejects.toThrow(refusalOf(place));
    expect(await everythingIn(place)).toEqual(before);
  });

  itDeep('can be listed, verified and restored from by every service', async () => {
    const place = await two.newPlace();
    const env = envOf(two.theirs, place);
    await claim(two.ours, place);
    const backup = join(place, 'by-hand');
    await adminReport(envOf(two.ours, place), 'backup', 'create', backup);
    expect((await adminReport(env, 'backup', 'list'))['backups']).toMatchObject([
      { name: 'by-hand', state: 'by hand' },
    ]);
    expect(await adminReport(env, 'backup', 'verify', backup)).toMatchObject({ isWhole: true });
    const before = await everythingIn(place);
    await two.drillFrom(backup, env);
    expect(await everythingIn(place)).toEqual(before);
  });

  itDeep('can be taken over with --adopt, and is then refused to its former owner', async () => {
    const place = await two.newPlace();
    await claim(two.ours, place);
    const old = 'scheduled-2026-01-01T040000.000Z';
    await mkdir(join(place, old));
    expect(await adminReport(envOf(two.theirs, place), 'backup', 'run', '--adopt')).toMatchObject({
      removed: 1,
    });
    expect(await readdir(place)).not.toContain(old);
    await expect(adminReport(envOf(two.ours, place), 'backup', 'run')).rejects.toThrow(refusalOf(place));
    await claim(two.theirs, place);
  });

  itDeep(
    'keeps and names the backups of its former owner after a takeover, without counting them',
    async () => {
      const place = await two.newPlace();
      await adminReport(envOf(two.ours, place), 'backup', 'run');
      const [lost = ''] = await scheduledIn(place);
      const unverified = 'unverified-2026-01-01T040000.000Z';
      await cp(join(place, lost), join(place, unverified), { recursive: true });
      const left = [lost, unverified];
      const run = (...more: string[]): Promise<Report> =>
        adminReport(envOf(two.theirs, place), 'backup', 'run', ...more);
      const first = await run('--adopt');
      expect(first).toMatchObject({ kept: 1, removed: 0 });
      expect([...(first['left'] as string[])].sort()).toEqual(left);
      expect(first.text).toMatch(/; 2 of another database are left, to be removed by hand: \S+, \S+$/);
      expect(await run()).toMatchObject({ kept: 1, removed: 1 });
      expect(await readdir(place)).toEqual(expect.arrayContaining(left));
      expect(await scheduledIn(place)).toHaveLength(2);
      for (const name of left) await rm(join(place, name), { recursive: true });
      expect(await run()).not.toHaveProperty('left');
    },
  );

  itDeep('of an earlier version keeps the backups of the lost database after a takeover', async () => {
    const place = await two.newPlace();
    const env = envOf(two.ours, place);
    await adminReport({ ...env, BACKUP_KEEP: '2' }, 'backup', 'run');
    await adminReport({ ...env, BACKUP_KEEP: '2' }, 'backup', 'run');
    const lost = await scheduledIn(place);
    expect(lost).toHaveLength(2);
    for (const name of lost) await asEarlier(place, name);
    const restored = await two.drillFrom(join(place, lost[1]!), env);
    for (const more of [['--adopt'], [], []]) await adminReport(restored, 'backup', 'run', ...more);
    const after = await scheduledIn(place);
    expect(after).toHaveLength(3);
    expect(after).toEqual(expect.arrayContaining(lost));
  });

  itDeep('that is taken over during a run keeps what the new owner has there', async () => {
    const place = await two.newPlace();
    const held = await holdTable(two.ours.database, 'versions');
    const running = adminReport(envOf(two.ours, place), 'backup', 'run');
    const refused = expect(running).rejects.toThrow(refusalOf(place));
    await held.waiting(1);
    await writeFile(join(place, 'database-id'), randomUUID());
    await mkdir(join(place, 'unverified-2026-01-01T040000.000Z'));
    const before = (await readdir(place)).filter((name) => !name.startsWith('partial-'));
    await held.release();
    await refused;
    expect(await readdir(place)).toEqual(before);
  });

  it('has one owner when two databases find it empty at the same time', async () => {
    for (let round = 0; round < rounds(3, 20); round++) {
      const place = await two.newPlace();
      const claims = [two.ours, two.theirs].map((service) => claim(service, place));
      const outcomes = await Promise.allSettled(claims);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(await readFile(join(place, 'database-id'), 'utf8')).toBe(`${winners.join()}\n`);
    }
  });

  itDeep(
    'with an incomplete mark belongs to the database of its backups, or else to the next one',
    async () => {
      const place = await two.newPlace();
      const mark = join(place, 'database-id');
      const wait = jest.spyOn(SETTLING, 'wait').mockResolvedValue();
      await adminReport(envOf(two.ours, place), 'backup', 'run');
      await writeFile(mark, '');
      await expect(claim(two.theirs, place)).rejects.toThrow(`${place} has a backup of another database`);
      expect(await readFile(mark, 'utf8')).toBe('');
      const id = await claim(two.ours, place);
      expect(await readFile(mark, 'utf8')).toBe(`${id}\n`);
      await expect(claim(two.theirs, place)).rejects.toThrow(refusalOf(place));

      for (const name of await scheduledIn(place)) await rm(join(place, name), { recursive: true });
      await writeFile(mark, '');
      wait.mockImplementationOnce(() => writeFile(mark, id)); // the process that had made it was at work
      await expect(claim(two.theirs, place)).rejects.toThrow(refusalOf(place));
      await writeFile(mark, '');
      await claim(two.theirs, place);
      wait.mockRestore();
    },
  );

  itDeep(
    'of another database is refused to a backup by hand in it, which marks no free directory',
    async () => {
      const place = await two.newPlace();
      const byHand = join(place, 'by-hand');
      expect(await adminReport(envOf(two.ours, place), 'backup', 'create', byHand)).toMatchObject({
        damaged: [],
      });
      expect(await readdir(place)).toEqual(['by-hand']);
      await claim(two.ours, place);
      const create = (...more: string[]): Promise<Report> =>
        adminReport(envOf(two.theirs, ''), 'backup', 'create', join(place, 'another'), ...more);
      const before = await everythingIn(place);
      await expect(create()).rejects.toThrow(refusalOf(place));
      expect(await everythingIn(place)).toEqual(before);
      expect(await create('--adopt')).toMatchObject({ damaged: [] });
      await expect(adminReport(envOf(two.ours, place), 'backup', 'run')).rejects.toThrow(refusalOf(place));
    },
  );
});

describe('a backup place that a backup by hand may not read', () => {
  itDeep.each(['EACCES', 'EPERM'])('counts as free (%s)', async (code) => {
    const place = await two.newPlace();
    await claim(two.ours, place);
    const cause = Object.assign(new Error(), { code });
    const read = jest
      .spyOn(DirectoryMark.prototype as unknown as { read(): Promise<string> }, 'read')
      .mockRejectedValue(new OperatorError('cannot be used', { cause }));
    for (const adopt of [false, true])
      await two.theirs.app.get(BackupPlaces).expectOwnAbove(join(place, 'by-hand'), adopt);
    read.mockRejectedValue(new OperatorError('cannot be used', { cause: new Error('EIO') }));
    const looked = two.theirs.app.get(BackupPlaces).expectOwnAbove(join(place, 'by-hand'), false);
    await expect(looked).rejects.toThrow('cannot be used');
    read.mockRestore();
    await claim(two.ours, place);
  });
});
