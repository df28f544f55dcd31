import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Backups } from '../../../src/operations/backup/index.js';
import { BlobFiles } from '../../../src/operations/backup/blob-files.js';
import { BlobStores } from '../../../src/platform/storage/blob-store.js';
import { adminJson, adminReport } from '../../kit/admin.js';
import { assetToken, envelope, TestAssets } from '../../kit/assets.js';
import { createDatabase, startService, type TestService, type TestUser } from '../../kit/index.js';

const SETTINGS = { INLINE_BLOB_BYTES: '0', AUTH_SECRET: 'the same for whatever restores it' };

let service: TestService;
let alice: TestUser;
let home: string;
beforeAll(async () => {
  service = await startService({ env: SETTINGS });
  alice = await service.user('alice');
  home = await mkdtemp(join(tmpdir(), 'sync-meanwhile-'));
});
afterAll(async () => {
  await service.close();
  await rm(home, { recursive: true, force: true });
});

/** Acts once, after a backup has read the tables and before it copies the blobs. */
function between(act: () => Promise<void>): void {
  const files = service.app.get(BlobFiles);
  const copyBlobs = files.export.bind(files);
  files.export = async (directory) => {
    files.export = copyBlobs;
    await act();
    return copyBlobs(directory);
  };
}

const admin = (env: Record<string, string>, ...args: string[]): Promise<Record<string, unknown>> =>
  adminJson({ ...SETTINGS, ...env }, ...args);

describe('a backup, when data changes after its tables and before its blobs,', () => {
  it('reports deleted assets and workspaces as gone, and is restored without them', async () => {
    const [kept, doomed] = [await alice.workspace('kept'), await alice.workspace('doomed')];
    await kept.put('note', 'content').expect(201);
    await doomed.put('note', 'content').expect(201);
    const [stays, goes] = [assetToken(), assetToken()];
    for (const token of [stays, goes]) await TestAssets.of(kept).create(token, envelope(500)).expect(201);

    between(async () => {
      await TestAssets.of(kept).request('delete', `/${goes}`).expect(200);
      await alice.delete(doomed.path).expect(200);
      await service.database.eventually(
        `SELECT 1 WHERE NOT EXISTS (SELECT FROM blobs WHERE workspace_id = '${doomed.id}')`,
      );
    });
    const directory = join(home, 'gone');
    const { gone, damaged, blobs } = await service.app.get(Backups).create(directory);
    expect(damaged).toEqual([]);
    expect(blobs.count).toBe(2);
    expect(gone.map(({ deleted }) => deleted).sort()).toEqual(['asset', 'workspace']);

    const database = await createDatabase();
    const env = { DATABASE_URL: database.url, DATA_DIR: await mkdtemp(join(home, 'data-')) };
    await admin(env, 'backup', 'restore', directory);
    expect((await admin(env, 'doctor', '--deep')).found).toBe(0);
    expect(await database.query('SELECT token FROM assets')).toEqual([{ token: stays }]);
    expect(await database.query('SELECT used_bytes::int AS used FROM storage_accounts')).toEqual([
      { used: 500 },
    ]);
    expect(await database.query('SELECT name FROM workspaces WHERE deleted_at IS NULL')).toEqual([
      { name: 'kept' },
    ]);
    await database.drop();
  });

  it('finds moved bytes at their new place', async () => {
    const notes = await alice.workspace('moving');
    await notes.put('note', randomBytes(100)).expect(201);
    between(async () => {
      const env = {
        DATABASE_URL: service.database.url,
        DATA_DIR: service.dataDir,
        INLINE_BLOB_BYTES: '65536',
      };
      await admin(env, 'blobs', 'move', '--to', 'inline');
      await admin(env, 'blobs', 'sweep', '--now', new Date(Date.now() + 7 * 24 * 3_600_000).toISOString());
    });
    const { damaged, gone } = await service.app.get(Backups).create(join(home, 'moved'));
    expect([damaged, gone]).toEqual([[], []]);
  });

  it('reports the bytes of a version that was thinned and swept as damaged', async () => {
    const notes = await alice.workspace('late');
    await notes.put('note', randomBytes(100)).expect(201);
    await notes.put('note', randomBytes(100)).expect(200);
    const week = 7 * 24 * 3_600_000;
    between(async () => {
      const env = { ...SETTINGS, DATABASE_URL: service.database.url, DATA_DIR: service.dataDir };
      await adminReport(env, 'retention', 'run', '--now', new Date(Date.now() + week).toISOString());
      await adminReport(env, 'blobs', 'sweep', '--now', new Date(Date.now() + 3 * week).toISOString());
    });
    const { gone, damaged } = await service.app.get(Backups).create(join(home, 'late'));
    expect(gone).toEqual([]);
    expect(damaged).toEqual([expect.stringContaining(notes.id)]);
  });

  it('reports lost bytes, and nothing else, as damaged', async () => {
    const notes = await alice.workspace('lossy');
    await notes.put('whole', randomBytes(100)).expect(201);
    await notes.put('lost', randomBytes(100)).expect(201);
    const [{ id } = { id: '' }] = await service.database.query<{ id: string }>(
      `SELECT b.id FROM blobs b JOIN versions v ON (v.workspace_id, v.blob_id) = (b.workspace_id, b.id)
       JOIN files f ON (f.workspace_id, f.id) = (v.workspace_id, v.file_id)
       WHERE f.workspace_id = $1 AND f.encrypted_path = 'lost'`,
      [notes.id],
    );
    between(async () => {
      await service.app.get(BlobStores).main.delete(`${notes.id}/${id}`);
    });
    const { damaged } = await service.app.get(Backups).create(join(home, 'lossy'));
    expect(damaged).toEqual([`${notes.id}/${id}`]);
  });
});

describe('a database whose role has a schema of its own', () => {
  it('is backed up like any other, and never as empty', async () => {
    const database = await createDatabase();
    await database.query('CREATE SCHEMA own');
    await database.query(`DO $$ DECLARE name text; BEGIN
      FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('ALTER TABLE public.%I SET SCHEMA own', name);
      END LOOP;
    END $$`);
    await database.query(`ALTER DATABASE ${database.name} SET search_path TO own, public`);
    const elsewhere = await startService({ env: { ...SETTINGS, DATABASE_URL: database.url } });
    const workspace = await (await elsewhere.user('owner')).workspace();
    await workspace.put('note', 'content').expect(201);

    const usual = await service.app.get(Backups).create(join(home, 'usual'));
    const { tables } = await elsewhere.app.get(Backups).create(join(home, 'own'));
    expect(tables.map(({ name, columns }) => [name, columns])).toEqual(
      usual.tables.map(({ name, columns }) => [name, columns]),
    );
    expect(tables).toContainEqual(expect.objectContaining({ name: 'versions', rows: 1 }));

    await database.query('CREATE SCHEMA empty');
    await database.query(`ALTER DATABASE ${database.name} SET search_path TO empty, own, public`);
    expect((await elsewhere.app.get(Backups).create(join(home, 'behind'))).tables).toHaveLength(
      tables.length,
    );
    await database.query(`ALTER DATABASE ${database.name} SET search_path TO empty`);
    await expect(elsewhere.app.get(Backups).create(join(home, 'nothing'))).rejects.toThrow('no tables');
    await elsewhere.close();
    await database.drop();
  });
});
