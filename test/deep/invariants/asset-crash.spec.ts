import { BlobSweeper, SWEEP_EVERY_MS } from '../../../src/platform/storage/blob-sweeper.js';
import { assetToken, envelope, expectExactUsage, TestAssets } from '../../kit/assets.js';
import { footprint } from '../../kit/footprint.js';
import { eventually, startService, type TestService } from '../../kit/index.js';
import { startProcess } from '../../kit/process.js';
import { Random } from '../../kit/random.js';

const ROUNDS = 2;
const WRITERS = 6;
const ACKNOWLEDGED_PER_ROUND = 50;
const INLINE = 1000;
const HOUR_MS = 60 * 60_000;
const SEED = Number(process.env['SEED'] ?? 1);
const random = new Random(SEED);

let service: TestService;
let assets: TestAssets;
beforeAll(async () => {
  service = await startService({ env: { INLINE_BLOB_BYTES: String(INLINE) } });
  assets = TestAssets.of(await (await service.user('alice')).workspace());
});
afterAll(() => service.close());

/** What was acknowledged to clients. */
const created = new Map<string, string>();
const deleted = new Set<string>();

/** Uploads small and large assets, and deletes some, until the service is gone. */
async function write(there: TestAssets): Promise<void> {
  for (;;) {
    const [token, bytes] = [assetToken(), envelope(random.next() < 0.5 ? 300 : 150_000)];
    const answer = await there.create(token, bytes, token).catch(() => undefined);
    if (!answer) return;
    if (answer.status !== 201) continue; // a slow machine may be too busy
    created.set(token, bytes.toString('base64'));
    if (random.next() < 0.7) continue;
    created.delete(token); // from here on it may be there or not
    const gone = await there.delete(token).catch(() => undefined);
    if (gone?.status === 200) deleted.add(token);
  }
}

describe(`kill -9 in a storm of asset uploads and deletions, seed ${SEED}`, () => {
  it('loses nothing that was acknowledged, keeps usage exact and leaves no object behind for longer than an hour', async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      const env = { DATA_DIR: service.dataDir, DATABASE_URL: service.database.url };
      const other = await startProcess({ ...env, INLINE_BLOB_BYTES: String(INLINE) });
      const writers = Array.from({ length: WRITERS }, () => write(assets.as(assets.user.at(other.url))));
      await eventually(() => expect(created.size).toBeGreaterThanOrEqual(round * ACKNOWLEDGED_PER_ROUND));
      await other.end('SIGKILL');
      await Promise.all(writers);
      // The database still executes what the killed service has sent.
      await service.database.eventually(
        `SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'
           AND pid <> pg_backend_pid())`,
      );
      await expectExactUsage(service.database);
    }

    for (const [token, text] of created) expect((await assets.get(token).expect(200)).text).toBe(text);
    for (const token of deleted) await assets.get(token).expect(404);
    const sizes = (await assets.list()).map(({ sizeBytes }) => sizeBytes);
    // The first sweep that finds them comes by then; the rest of the hour is for the case that it is killed.
    service.clock.advance(HOUR_MS - 2 * SWEEP_EVERY_MS);
    await service.app.get(BlobSweeper).sweep(service.clock.now());
    const { blobs, onDisk } = await footprint(service, assets.workspaceId);
    expect(blobs).toBe(sizes.length);
    expect(onDisk).toEqual(sizes.filter((size) => size > INLINE).sort((a, b) => a - b));
  });
});
