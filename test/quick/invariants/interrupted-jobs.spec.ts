import { Retention } from '../../../src/domain/retention/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { BlobSweeper } from '../../../src/platform/storage/index.js';
import { footprint, NOTHING } from '../../kit/footprint.js';
import { writeLog } from '../../kit/histories.js';
import { startService, type TestService, type TestUser, TestWorkspace } from '../../kit/index.js';
import { expectReplayLaw, scrub } from '../../kit/oracles.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;
const FILES = 2;
/** More than two batches of retention, and more than one of the sweep. */
const VERSIONS = 150;

/** All versions are of this hour, of which retention keeps one per file. */
const WRITTEN = new Date(Math.floor(Date.now() / HOUR) * HOUR);
const LATER = new Date(WRITTEN.getTime() + 3 * DAY);
const MUCH_LATER = new Date(LATER.getTime() + DAY + 1);

let service: TestService;
let alice: TestUser;
beforeAll(async () => {
  service = await startService();
  alice = await service.user('alice');
});
afterAll(() => service.close());

async function written(): Promise<TestWorkspace> {
  const operations = Array.from({ length: FILES * VERSIONS }, (_, i) => ({
    file: i % FILES,
    action: 'upsert' as const,
    at: new Date(WRITTEN.getTime() + i),
  }));
  const { workspaceId } = await writeLog(service.database.query, alice.id, { operations });
  return new TestWorkspace(alice, workspaceId);
}

/** Makes the database refuse one deletion from a table: the first, the second, and so on. */
const failOnce = (table: string, turn: number): Promise<unknown> =>
  service.database.query(`
    CREATE SEQUENCE deletions;
    CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF nextval('deletions') = ${turn} THEN RAISE 'the power has failed'; END IF; RETURN NULL; END $$;
    CREATE TRIGGER fail_once AFTER DELETE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION fail_once()`);
/** Resolves when the refused deletion holds no lock any more. */
const undone = (table: string): Promise<unknown> => service.database.query(`SELECT FROM ${table} FOR UPDATE`);
afterEach(() => service.database.query('DROP FUNCTION fail_once CASCADE; DROP SEQUENCE deletions'));

describe('a job that fails midway', () => {
  let workspace: TestWorkspace;
  beforeAll(async () => {
    workspace = await written();
  });
  const rows = (): ReturnType<typeof footprint> => footprint(service, workspace.id);

  it('is completed by the next run: retention', async () => {
    await failOnce('versions', 2);
    const run = (): ReturnType<Retention['run']> => service.app.get(Retention).runDue(LATER);
    expect(await run()).toMatchObject({ failed: 1 });
    const left = (await rows()).versions;
    expect(left).toBeGreaterThan(FILES);
    expect(left).toBeLessThan(FILES * VERSIONS);
    expect(await scrub(service.database, service.dataDir)).toBe(left);

    expect(await run()).toMatchObject({ versions: left - FILES, failed: 0 });
    expect(await scrub(service.database, service.dataDir)).toBe(FILES);
    await expectReplayLaw(workspace);
  });

  it('is completed by the next run: the sweep of thinned versions', async () => {
    await failOnce('blobs', 2);
    const sweep = (): Promise<number> => service.app.get(BlobSweeper).sweep(MUCH_LATER);
    await expect(sweep()).rejects.toThrow('the power has failed');
    const left = (await rows()).blobs;
    expect(left).toBeGreaterThan(FILES);
    expect(left).toBeLessThan(FILES * VERSIONS);

    await undone('blobs');
    service.clock.advance(HOUR); // the claims of the failed sweep have expired
    expect(await sweep()).toBe(left - FILES);
    service.clock.advance(-HOUR);
    expect(await scrub(service.database, service.dataDir)).toBe(FILES);
  });

  it('is completed by the next run: the purge of a deleted workspace', async () => {
    const other = await written();
    await failOnce('changes', 1);
    const purge = service.app.get(WorkspacePurge);
    await other.user.delete(other.path).expect(200);
    await purge.idle();
    expect(await footprint(service, other.id)).toMatchObject({ workspaces: 1, changes: FILES * VERSIONS });

    await undone('changes');
    await purge.resume();
    await purge.idle();
    expect(await footprint(service, other.id)).toEqual(NOTHING);
    expect(await scrub(service.database, service.dataDir)).toBe(FILES);
  });
});
