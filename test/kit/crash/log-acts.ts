import type supertest from 'supertest';
import { upload as item, uploadBatch } from '../batches.js';
import { sha256, type TestUser } from '../index.js';
import type { Act } from './act.js';
import type { Change, Sight, WorkspaceHistory } from './history.js';

/** Changes to the log of one workspace that are made together or not at all. */
function write(
  history: WorkspaceHistory,
  kind: string,
  changes: ReadonlyMap<string, Change>,
  send: (user: TestUser) => supertest.Test,
  { isRepeatable = true, again = [200, 201] } = {},
): Act {
  const expected = [200, 201];
  const done = (): void => changes.forEach((change, path) => history.add(path, change));
  return {
    kind,
    history,
    expected,
    send,
    done,
    lost: () => changes.forEach((_, path) => history.unsure.add(path)),
    settle: async (user, sight) => {
      const happened = new Set([...changes].map(([path, change]) => landed(history, path, change, sight)));
      expect(happened.size).toBe(1);
      const hasHappened = happened.has(true);
      if (isRepeatable || !hasHappened)
        expect(hasHappened ? again : expected).toContain((await send(user)).status);
      changes.forEach((_, path) => history.unsure.delete(path));
      done();
      return hasHappened;
    },
  };
}

export function upload(history: WorkspaceHistory, path: string, content: Buffer): Act {
  const change: Change = { action: 'upsert', contentHash: sha256(content) };
  return write(history, 'upload', new Map([[path, change]]), (user) => history.as(user).put(path, content));
}

/** A batch: its items are committed in order, each completely, so a prefix of them may be there. */
export function batch(history: WorkspaceHistory, contents: ReadonlyMap<string, Buffer>): Act {
  const items = [...contents];
  const changes = new Map(
    items.map(([path, content]): [string, Change] => [
      path,
      { action: 'upsert', contentHash: sha256(content) },
    ]),
  );
  const send = (user: TestUser): supertest.Test =>
    uploadBatch(
      history.as(user),
      items.map(([path, content]) => item(path, content)),
    );
  const done = ({ body }: supertest.Response): void => {
    const { results } = body as { results: { status: number }[] };
    expect(results.map(({ status }) => status <= 201)).toEqual(items.map(() => true));
    changes.forEach((change, path) => history.add(path, change));
  };
  return {
    kind: 'batch',
    history,
    expected: [200],
    send,
    done,
    lost: () => changes.forEach((_, path) => history.unsure.add(path)),
    settle: async (user, sight) => {
      const happened = items.map(([path]) => landed(history, path, changes.get(path)!, sight));
      expect(happened).toEqual(happened.toSorted((a, b) => Number(b) - Number(a)));
      const answer = await send(user);
      expect(answer.status).toBe(200);
      changes.forEach((_, path) => history.unsure.delete(path));
      done(answer);
      return happened.includes(true);
    },
  };
}

/** Whether a path has this change after the acknowledged ones; it must have nothing else. */
function landed(history: WorkspaceHistory, path: string, change: Change, sight: Sight): boolean {
  const before = history.changes.get(path) ?? [];
  const now = sight.changes.get(path) ?? [];
  if (now.length > before.length) expect(now).toEqual([...before, change]);
  else expect(now).toEqual(before);
  return now.length > before.length;
}

/** @param paths live paths, whose last hashes are known */
export function push(history: WorkspaceHistory, paths: readonly string[]): Act {
  const changes = new Map(paths.map((path) => [path, deletionOf(history, path)]));
  return write(history, 'push', changes, (user) => history.as(user).push(0, [...paths]));
}

export function deletion(history: WorkspaceHistory, path: string): Act {
  const changes = new Map([[path, deletionOf(history, path)]]);
  return write(history, 'deletion', changes, (user) => history.as(user).delete(path), { again: [404] });
}

/** A repeated restore would make another version, so a client checks first. */
export function restore(
  history: WorkspaceHistory,
  path: string,
  versionId: string,
  contentHash: string,
): Act {
  const changes = new Map<string, Change>([[path, { action: 'upsert', contentHash }]]);
  const send = (user: TestUser): supertest.Test => history.as(user).restore(path, versionId);
  return write(history, 'restore', changes, send, { isRepeatable: false });
}

function deletionOf(history: WorkspaceHistory, path: string): Change {
  return { action: 'delete', contentHash: history.changes.get(path)?.at(-1)?.contentHash ?? '' };
}
