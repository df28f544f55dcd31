import { isDeepStrictEqual } from 'node:util';
import { Checkpoints, Projections } from '../../../src/domain/checkpoints/index.js';
import { Files } from '../../../src/domain/files/index.js';
import { Versions } from '../../../src/domain/files/versions.service.js';
import { sha256, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { itemsOf } from '../../kit/pages.js';
import { Random } from '../../kit/random.js';
import { rounds } from '../../kit/rounds.js';
import {
  type LoggedChange,
  naiveManifest,
  naiveNoteState,
  naiveSummary,
  type VersionIds,
} from '../../kit/naive-projections.js';

const HISTORIES = rounds(10, 80);
const OPERATIONS = 60;
const AT_ONCE = 8;
const PATHS = ['a', 'b', 'c', 'd', 'e'];
const FIRST_SEED = Number(process.env['SEED'] ?? 1);

let service: TestService;
let files: Files;
let versions: Versions;
let checkpoints: Checkpoints;
let projections: Projections;

beforeAll(async () => {
  service = await startService({ env: { DATABASE_POOL_SIZE: '10', LOG_LEVEL: 'silent' } });
  files = service.app.get(Files);
  versions = service.app.get(Versions);
  checkpoints = service.app.get(Checkpoints);
  projections = service.app.get(Projections);
});
afterAll(() => service.close());

describe('the three projections', () => {
  it(`agree with a naive recomputation over ${HISTORIES} random histories of ${OPERATIONS} operations`, async () => {
    const alice = await service.user('alice');
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < HISTORIES) {
        const seed = FIRST_SEED + next++;
        const workspace = await alice.workspace(`seed ${seed}`);
        try {
          const random = new Random(seed);
          await live(workspace.id, random);
          await compare(workspace, random);
        } catch (error) {
          throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  }, 1_200_000);
});

/** Uploads, deletions, restores and checkpoints, as several devices would make them. */
async function live(workspaceId: string, random: Random): Promise<void> {
  const precondition = { ifMatch: null, ifAbsent: false };
  for (let i = 0; i < OPERATIONS; i++) {
    const [path, deviceId, kind] = [random.pick(PATHS), random.pick(['laptop', 'phone']), random.next()];
    if (kind < 0.5) {
      const content = Buffer.from(`content ${random.below(4)}`); // few contents, so that some uploads change nothing
      const upload = {
        workspaceId,
        encryptedPath: path,
        contentHash: sha256(content),
        deviceId,
        precondition,
      };
      await files.upload(upload, once(content));
    } else if (kind < 0.75) {
      await files.delete(workspaceId, path, deviceId).catch(ignoreMissing);
    } else if (kind < 0.92) {
      const known = await itemsOf(versions.list(workspaceId, path)).catch(ignoreMissing);
      if (known)
        await versions.restore(workspaceId, path, random.pick(known).id, random.pick([null, deviceId]));
    } else {
      await checkpoints.create(workspaceId, 'bGFiZWw', 'manual');
    }
  }
}

/** Compares checkpoints with the log that pull returns: the newest from every cursor, others from some. */
async function compare(workspace: TestWorkspace, random: Random): Promise<void> {
  const log = (await workspace.log()).map((change, i): LoggedChange => ({ ...change, cursor: i + 1 }));
  const ids: VersionIds = new Map();
  for (const path of PATHS) {
    const known = await itemsOf(versions.list(workspace.id, path)).catch(ignoreMissing);
    for (const { changeCursor, id } of known ?? []) ids.set(changeCursor ?? 0, id);
  }
  const asked = { userId: workspace.user.id, workspaceId: workspace.id };
  const list = await itemsOf(checkpoints.list(workspace.id));
  for (const [i, { id, cursor }] of list.entries()) {
    const older = list[i + 1]?.cursor ?? 0;
    expectSame(inOrder(await projections.summary(asked, id)), inOrder(naiveSummary(log, older, cursor)));
    const all = Array.from({ length: cursor + 1 }, (_, from) => from);
    for (const from of i === 0 ? all : [0, random.below(cursor + 1), random.below(cursor + 1), cursor]) {
      const summary = inOrder(await projections.summary(asked, id, from));
      expectSame(summary, inOrder(naiveSummary(log, from, cursor)));
    }
    const manifest = inOrder(await projections.restoreManifest(asked, id));
    expectSame(manifest, inOrder(naiveManifest(log, ids, cursor)));
    for (const path of [...PATHS, 'never']) {
      const state = await projections.noteState(workspace.id, id, path);
      expectSame(state, naiveNoteState(log, ids, cursor, path));
    }
  }
}

/** `toEqual` explains a difference well, but is too slow for a hundred thousand comparisons. */
function expectSame(actual: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(actual, wanted)) expect(actual).toEqual(wanted);
}

function inOrder<T extends { entries: { encryptedPath: string }[] }>(projection: T): T {
  const entries = projection.entries.toSorted((a, b) => a.encryptedPath.localeCompare(b.encryptedPath));
  return { ...projection, entries };
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
  await Promise.resolve();
}

function ignoreMissing(error: unknown): undefined {
  if ((error as { status?: number }).status !== 404) throw error;
}
