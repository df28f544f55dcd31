import { Checkpoints, Projections } from '../../../src/domain/checkpoints/index.js';
import { Files } from '../../../src/domain/files/index.js';
import { Versions } from '../../../src/domain/files/versions.service.js';
import { Blobs, BlobSweeper } from '../../../src/platform/storage/index.js';
import { Retention } from '../../../src/domain/retention/index.js';
import { LockedThinning } from '../../../src/domain/retention/locked-thinning.js';
import { versionsToThin } from '../../kit/retention-rule.js';
import { type LoggedOperation, writeLog, type WrittenVersion } from '../../kit/histories.js';
import { expectReplayLaw, scrub } from '../../kit/oracles.js';
import { sha256, startService, type TestService, type TestUser, TestWorkspace } from '../../kit/index.js';
import { itemsOf } from '../../kit/pages.js';
import { Random } from '../../kit/random.js';
import { trials } from '../../kit/trials.js';

const DAY = 24 * 60 * 60_000;
/** Trials of a round: one for each file of a workspace. */
const FILES = 40;
const ROUNDS = Math.ceil(trials(1_000) / FILES);
const TRIALS = ROUNDS * FILES;
const LANES = 8;

/** The services of one instance. */
interface Instance {
  readonly files: Files;
  readonly versions: Versions;
  readonly checkpoints: Checkpoints;
  readonly retention: Retention;
}

/** A workspace of one round: forty files with four versions of the same hour, of which three are thinned. */
interface Round {
  readonly workspaceId: string;
  readonly written: WrittenVersion[];
  readonly random: Random;
}

let first: TestService;
let second: TestService;
let here: Instance;
let there: Instance;
let alice: TestUser;
/** In the middle of a week, so that a round does not cross into another one. */
const START = new Date('2026-03-11T12:00:00.000Z');
/** A time when all versions of a round are older than 30 days. */
const LATER = new Date(START.getTime() + 40 * DAY);

beforeAll(async () => {
  first = await startService({ env: { LOG_LEVEL: 'silent' } });
  second = await startService({ beside: first, env: { LOG_LEVEL: 'silent' } });
  first.clock.stopAt(START);
  [here, there] = [instanceOf(first), instanceOf(second)];
  alice = await first.user('alice');
});
afterAll(async () => {
  await second.close();
  await first.close();
});

/** Changes and checkpoints made between the first batch of a run and its last, over all rounds. */
let meanwhile: number;
beforeEach(async () => {
  meanwhile = 0;
  // Many small batches, so that much can happen between them.
  jest.spyOn(LockedThinning.prototype, 'batchSize', 'get').mockReturnValue(10);
  await first.database.query(FORGET);
});
afterEach(() => jest.restoreAllMocks());

function instanceOf({ app }: TestService): Instance {
  return {
    files: app.get(Files),
    versions: app.get(Versions),
    checkpoints: app.get(Checkpoints),
    retention: app.get(Retention),
  };
}

describe(`in ${TRIALS} trials no version is without its bytes and no pin is lost, when retention runs while`, () => {
  it('files are uploaded', async () => {
    await inRounds(async (round) => {
      const uploads = onEachFile((file) => upload(there, round, file));
      const [{ failed }] = await Promise.all([thin(round), uploads]);
      expect(failed).toBe(0);
    });
    expect(meanwhile).toBeGreaterThan(0);
  });

  it('old versions are restored', async () => {
    let restored = 0;
    let refused = 0;
    await inRounds(async (round) => {
      const restores = onEachFile(async (file) => {
        const source = round.random.pick(round.written.slice(4 * file, 4 * file + 4));
        const answer = await there.versions
          .restore(round.workspaceId, pathOf(file), source.id, 'phone')
          .catch(ignoreMissing);
        if (answer) restored++;
        else refused++;
      });
      await Promise.all([thin(round), restores]);
    });
    expect(meanwhile).toBeGreaterThan(0);
    expect(restored).toBeGreaterThan(TRIALS / 4);
    expect(refused).toBeGreaterThan(0);
  });

  it('checkpoints are made, and what they pin is overwritten', async () => {
    await inRounds(async (round) => {
      const pins = onEachFile(async (file) => {
        await there.checkpoints.create(round.workspaceId, 'bGFiZWw', 'manual');
        await upload(there, round, file);
      });
      await Promise.all([thin(round), pins]);
    });
    expect(meanwhile).toBeGreaterThan(0);
  });

  it('the other instance runs it too, and each version is removed once', async () => {
    const original = LockedThinning.prototype.thin;
    let overtaken = 0; // batches that both instances had planned
    jest.spyOn(LockedThinning.prototype, 'thin').mockImplementation(async function (
      this: LockedThinning,
      ...batch
    ) {
      const thinned = await original.apply(this, batch);
      if (thinned!.versions < batch[1].versions) overtaken++;
      return thinned;
    });
    await inRounds(async (round) => {
      const [one, other] = await Promise.all([here.retention.run(LATER), there.retention.run(LATER)]);
      expect(one.versions + other.versions).toBe(3 * FILES);
      expect(one.blobs + other.blobs).toBe(3 * FILES);
      expect(round.written).toHaveLength(4 * FILES);
    });
    expect(overtaken).toBeGreaterThan(0);
  });
});

/** Runs each round on a new workspace, checks what must hold, and removes the workspace. */
async function inRounds(race: (round: Round) => Promise<void>): Promise<void> {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const operations = Array.from({ length: 4 * FILES }, (_, i): LoggedOperation => {
      return { file: Math.floor(i / 4), action: 'upsert', at: new Date(START.getTime() + i) };
    });
    const { workspaceId, versions } = await writeLog(first.database.query, alice.id, { operations });
    await race({ workspaceId, written: versions, random: new Random(seed) });
    await expectAllIsThere(workspaceId);
    if (seed === ROUNDS) await expectReplayLaw(new TestWorkspace(alice, workspaceId));
    await first.database.query(FORGET);
  }
}

/** Runs retention, and counts what is made between its first batch and its last. */
async function thin({ workspaceId }: Round): ReturnType<Retention['run']> {
  const heads: number[] = [];
  const original = LockedThinning.prototype.thin;
  const thinning = jest.spyOn(LockedThinning.prototype, 'thin').mockImplementation(async function (
    this: LockedThinning,
    ...batch
  ) {
    heads.push(await madeIn(workspaceId)); // the second one is that after the first batch
    return original.apply(this, batch);
  });
  const report = await here.retention.run(LATER);
  thinning.mockRestore();
  meanwhile += heads.at(-1)! - heads[1]!;
  return report;
}

async function madeIn(workspaceId: string): Promise<number> {
  const [row] = await first.database.query<{ made: number }>(
    `SELECT (head_cursor + (SELECT count(*) FROM checkpoints WHERE workspace_id = $1))::int AS made
     FROM workspaces WHERE id = $1`,
    [workspaceId],
  );
  return row!.made;
}

const FORGET = 'TRUNCATE checkpoints, changes, versions, files, blobs, workspaces CASCADE';

async function onEachFile(work: (file: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < FILES) await work(next++);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

const pathOf = (file: number): string => `file-${file}`;

async function upload({ files }: Instance, { workspaceId, random }: Round, file: number): Promise<void> {
  const content = Buffer.from(`new content ${random.next()}`);
  const upload = {
    ...{ workspaceId, encryptedPath: pathOf(file), contentHash: sha256(content), deviceId: 'phone' },
    precondition: { ifMatch: null, ifAbsent: false },
  };
  await files.upload(upload, once(content));
}

/** Every version has its bytes, no pin is lost, and nothing is left that the rule does not keep. */
async function expectAllIsThere(workspaceId: string): Promise<void> {
  await scrub(first.database, first.dataDir); // before a sweep repairs what it finds in use
  await here.retention.run(LATER);
  await first.app.get(BlobSweeper).sweep(new Date(LATER.getTime() + 2 * DAY));
  await scrub(first.database, first.dataDir);
  await expectCheckpointsWhole(workspaceId);
  expect(await superfluous(workspaceId)).toEqual([]);
}

/** Every version that a manifest of any checkpoint names can be read, with its hash. */
async function expectCheckpointsWhole(workspaceId: string): Promise<void> {
  const projections = first.app.get(Projections);
  const named = new Map<string, string>();
  for (const { id } of await itemsOf(here.checkpoints.list(workspaceId))) {
    const { entries } = await projections.restoreManifest({ userId: 'somebody', workspaceId }, id);
    expect(entries).toHaveLength(FILES);
    for (const { encryptedPath, beforeVersionId, afterVersionId } of entries) {
      named.set(String(beforeVersionId), encryptedPath).set(String(afterVersionId), encryptedPath);
    }
  }
  for (const [versionId, path] of named) {
    const content = await here.versions.content(workspaceId, path, versionId);
    expect(sha256((await first.app.get(Blobs).read(content)) as Buffer)).toBe(content.contentHash);
  }
}

/** Versions that exist although the rule does not keep them. */
async function superfluous(workspaceId: string): Promise<string[]> {
  const rows = await first.database.query<WrittenVersion>(
    `SELECT v.id, v.file_id AS "fileId", v.created_at AS "createdAt", v.change_cursor::int AS "changeCursor",
            f.version = v.version AS "isCurrent",
            EXISTS (SELECT FROM checkpoints p WHERE p.workspace_id = $1 AND v.change_cursor = (
              SELECT max(cursor) FROM changes c WHERE c.workspace_id = $1 AND c.file_id = v.file_id AND c.cursor <= p.cursor
            )) AS "isPinned"
     FROM versions v JOIN files f ON f.workspace_id = $1 AND f.id = v.file_id WHERE v.workspace_id = $1`,
    [workspaceId],
  );
  const pinnedIds = new Set(rows.filter(({ isPinned }) => isPinned).map(({ id }) => id));
  return [...new Set(rows.map(({ fileId }) => fileId))].flatMap((file) => {
    const history = rows.filter(({ fileId }) => fileId === file);
    const currentId = history.find(({ isCurrent }) => isCurrent)?.id;
    expect(currentId).toBeDefined();
    return versionsToThin(history, { currentId: currentId!, pinnedIds }, LATER);
  });
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
  await Promise.resolve();
}

function ignoreMissing(error: unknown): undefined {
  if ((error as { status?: number }).status !== 404) throw error;
}
