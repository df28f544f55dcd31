import type supertest from 'supertest';
import { sha256, type TestUser } from '../../kit/index.js';
import type { Act } from './act.js';
import type { Change, Sight, WorkspaceHistory } from './history.js';

/** Changes to one workspace's log that are made together or not at all. */
function write(
  history: WorkspaceHistory,
  kind: string,
  changes: ReadonlyMap<string, Change>,
  send: (user: TestUser) => supertest.Test,
  { isRepeatable = true, again = [200, 201] } = {},
): Act {
  const expected = [200, 201];
  const done = (): void => changes.forEach((change, path) => history.add(path, change));
  const happenedTo = (path: string, sight: Sight): boolean => {
    const before = history.changes.get(path) ?? [];
    const now = sight.changes.get(path) ?? [];
    if (now.length > before.length) expect(now).toEqual([...before, changes.get(path)]);
    else expect(now).toEqual(before);
    return now.length > before.length;
  };
  return {
    kind,
    history,
    expected,
    send,
    done,
    lost: () => changes.forEach((_, path) => history.unsure.add(path)),
    settle: async (user, sight) => {
      const happened = new Set([...changes.keys()].map((path) => happenedTo(path, sight)));
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

/** Of paths that are live, whose last hashes are known. */
export function push(history: WorkspaceHistory, paths: readonly string[]): Act {
  const changes = new Map(paths.map((path) => [path, deletionOf(history, path)]));
  return write(history, 'push', changes, (user) => history.as(user).push(0, [...paths]));
}

export function deletion(history: WorkspaceHistory, path: string): Act {
  const changes = new Map([[path, deletionOf(history, path)]]);
  return write(history, 'deletion', changes, (user) => history.as(user).delete(path), { again: [404] });
}

/** Sent again, it would make one more version; so a client looks first. */
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
