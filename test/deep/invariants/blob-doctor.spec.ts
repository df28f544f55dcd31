import { randomBytes, randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { Doctor } from '../../../src/platform/doctor.js';
import { startService } from '../../kit/index.js';
import { MINUTE, HOUR, Examined } from '../../kit/blob-doctor.js';

const at = new Examined();

describe('the doctor', () => {
  beforeEach(async () => {
    at.service = await startService();
    at.notes = await (await at.service.user('alice')).workspace();
    await at.notes.put('small', 'a note').expect(201);
    await at.notes.put('large', randomBytes(100_000)).expect(201);
    await at.notes.put('huge', randomBytes(1_000_000)).expect(201);
  });
  afterEach(() => at.service.close());

  it('finds nothing in a sound store', async () => {
    expect(await at.examine({ isDeep: true })).toEqual([]);
    expect(await at.examine({ isDeep: true, fix: true })).toEqual([]);
    await at.notes.get('large').expect(200);
  });

  it.each([
    ['missing', (path: string) => rm(path), 'It has no bytes in the disk store.'],
    [
      'cut off',
      (path: string) => writeFile(path, 'x'),
      'It has 1 bytes instead of 100000 in the disk store.',
    ],
  ])('finds bytes that are %s, and cannot repair them', async (_, damage, problem) => {
    const key = await at.keyOf('large');
    await damage(at.onDisk(key));
    for (const fix of [false, true])
      expect(await at.examine({ fix })).toEqual([
        {
          fault: 'bytes missing or damaged',
          subject: key,
          problem,
          cure: 'Restore its bytes from a backup of the store; without one, whatever refers to them is lost.',
          isFixed: false,
        },
      ]);
  });

  it('finds changed bytes on disk and in rows only when it reads them', async () => {
    const [large, small] = [await at.keyOf('large'), await at.keyOf('small')];
    await writeFile(at.onDisk(large), randomBytes(100_000));
    await at.service.database.query('UPDATE blobs SET bytes = $2 WHERE id = $1', [
      small.split('/')[1],
      Buffer.from('a nota'),
    ]);
    expect(await at.examine()).toEqual([]);
    const findings = await at.examine({ isDeep: true });
    expect(findings.map(({ subject, problem }) => [subject, problem])).toEqual([
      [large, 'Its bytes in the disk store have a different hash.'],
      [small, 'The bytes in its row do not match its size or hash.'],
    ]);
  });

  it('finds bytes without a row, and removes them', async () => {
    const orphan = `${at.notes.id}/${randomUUID()}`;
    const stranger = `${randomUUID()}/${randomUUID()}`;
    const young = `${at.notes.id}/${randomUUID()}`;
    await at.plant(orphan, Buffer.from('left'));
    await at.plant(stranger, Buffer.from('left'));
    await at.plant(young, Buffer.from('an upload under way'), 25 * MINUTE);
    const found = await at.examine();
    expect(found.map(({ fault, subject, isFixed }) => [fault, subject, isFixed]).sort()).toEqual(
      [
        ['orphan', orphan, false],
        ['orphan', stranger, false],
      ].sort(),
    );
    expect((await at.examine({ fix: true })).every(({ isFixed }) => isFixed)).toBe(true);
    expect(await at.examine()).toEqual([]);
    expect(await at.examine({ inMs: 20 * MINUTE })).toMatchObject([{ subject: young }]);
    await at.notes.get('large').expect(200);
  });

  it('does not count bytes as orphans that are in upload, due for deletion or left by a move', async () => {
    const keys = Array.from({ length: 3 }, () => `${at.notes.id}/${randomUUID()}`);
    for (const key of keys) await at.plant(key, Buffer.from('known'));
    const [staged, dying, leftover] = keys.map((key) => key.split('/')[1]);
    const now = at.service.clock.now();
    const soon = new Date(now.getTime() + HOUR);
    await at.service.database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, created_at, not_before)
       VALUES ($1, $2, 'staged', 'disk', $4, NULL), ($1, $3, 'dying', 'disk', $4, $5)`,
      [at.notes.id, staged, dying, now, soon],
    );
    await at.service.database.query(`INSERT INTO blob_leftovers VALUES ('disk', $1, $2, 'dying', $3)`, [
      at.notes.id,
      leftover,
      soon,
    ]);
    expect(await at.examine({ fix: true })).toEqual([]);
  });

  it('finds blobs that the sweeper should have removed, and sweeps them', async () => {
    await at.service.database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, created_at, not_before)
       VALUES ($1, gen_random_uuid(), 'staged', 'disk', $2, NULL), ($1, gen_random_uuid(), 'dying', 'disk', $2, $2)`,
      [at.notes.id, at.service.clock.now()],
    );
    expect(await at.examine({ inMs: 25 * MINUTE })).toEqual([]);
    const late = { inMs: 2 * HOUR };
    expect(await at.examine(late)).toMatchObject([
      { fault: 'not swept', subject: 'dead uploads', isFixed: false },
      { fault: 'not swept', subject: 'blobs past their grace', isFixed: false },
    ]);
    expect((await at.examine({ ...late, fix: true })).map(({ isFixed }) => isFixed)).toEqual([true, true]);
    expect(await at.examine(late)).toEqual([]);
  });

  it('runs the checks that modules add', async () => {
    const drift = { fault: 'quota', subject: 'alice', problem: 'Off.', cure: 'Count.', isFixed: false };
    at.service.app.get(Doctor).addCheck(async function* () {
      yield await Promise.resolve(drift);
    });
    expect(await at.examine()).toEqual([drift]);
  });
});
