import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  deriveVaultKeys,
  encryptContent,
  encryptLabel,
  encryptPath,
  type HttpOptions,
  newMasterKey,
  NetworkError,
  type PastState,
  Session,
  type VaultKeys,
  VaultHistory,
  Workspace,
} from '../../../client/src/core/index.js';
import {
  type Disk,
  DiskError,
  NodeDisk,
  NodeStateFile,
  type PastFiles,
  type Report,
  RestoreRecord,
  type Restored,
} from '../../../client/src/folder/index.js';
import { around, FolderDevice } from '../../kit/folder-device.js';
import type { TestWorkspace } from '../../kit/index.js';
import { ProxiedService } from '../../kit/proxied-service.js';

/** History and restores of a real folder, with the real service and real encryption. */
const http: HttpOptions = { sleep: () => Promise.resolve(), retries: { attempts: 1 } };

let at: ProxiedService;
beforeAll(async () => {
  at = await ProxiedService.start();
});
afterAll(() => at.close());
beforeEach(() => at.begin());
afterEach(() => at.end());

class Killed extends Error {}

const CHANGING = ['stage', 'place', 'rename', 'remove', 'flush'];

/** A disk on which each call that changes something can be made to fail. */
function watched(root: string, before: (call: string) => void, after: (call: string) => void): Disk {
  const ofChanges = (tell: (call: string) => void) => (call: string) =>
    CHANGING.includes(call) ? tell(call) : undefined;
  return around(new NodeDisk(root), { before: ofChanges(before), after: ofChanges(after) });
}

const nothing = (): void => undefined;

/** A folder with its state, opened anew for each operation, as by a new process. */
class Device {
  readonly session = Session.withAccessToken(at.proxy.url, at.user.token, http);
  readonly history: VaultHistory;
  private readonly folder: FolderDevice;

  constructor(
    name: string,
    readonly real: TestWorkspace,
    readonly keys: VaultKeys,
  ) {
    this.folder = new FolderDevice(name, at.home, { session: this.session, workspaceId: real.id, keys });
    this.history = new VaultHistory(new Workspace(this.session, real.id, `${name}-history`), keys);
  }

  get root(): string {
    return this.folder.root;
  }

  write(path: string, content: string): void {
    this.folder.write(path, content);
  }

  remove(path: string): void {
    this.folder.remove(path);
  }

  files(): Record<string, string> {
    const names = readdirSync(this.root, { recursive: true, encoding: 'utf8' }).sort();
    const files = names.filter(
      (name) => !name.startsWith('.cloud-sync/') && statSync(join(this.root, name)).isFile(),
    );
    return Object.fromEntries(files.map((name) => [name, readFileSync(join(this.root, name), 'utf8')]));
  }

  sync(): Promise<Report> {
    return this.folder.sync();
  }

  /** @param meanwhile called when contents have arrived, before they are written */
  restore(
    state: PastState,
    what: string,
    disk?: Disk,
    meanwhile = nothing,
    isBrokenOff = false,
  ): Promise<Restored> {
    return this.folder.opened(async (folder) => {
      const file = new NodeStateFile(join(this.folder.state, 'restore'));
      try {
        const record = await RestoreRecord.open(file, what);
        const { restored } = await folder.restore(this.past(state, meanwhile), record);
        if (!isBrokenOff) await record.close();
        return restored;
      } finally {
        await file.close();
      }
    }, disk);
  }

  async versions(path: string): Promise<number> {
    return (await this.history.versions(path)).length;
  }

  private past({ files }: PastState, meanwhile: () => void): PastFiles {
    const named = (is: (then: unknown) => boolean): string[] =>
      files.filter(({ then }) => is(then)).map(({ path }) => path);
    const { history } = this;
    return {
      absent: named((then) => then === 'absent'),
      present: named((then) => typeof then === 'object' || then === 'lost'),
      unchanged: named((then) => then === 'now'),
      contents: async function* (paths) {
        for await (const answer of history.contents(files.filter(({ path }) => paths.includes(path)))) {
          meanwhile();
          if ('content' in answer) yield answer;
          else yield { path: answer.path, problem: answer.problem.message };
        }
      },
    };
  }
}

async function device(name = 'laptop'): Promise<Device> {
  return new Device(name, await at.user.workspace(), await deriveVaultKeys(newMasterKey()));
}

async function saved(one: Device, path: string, ...contents: string[]): Promise<void> {
  for (const content of contents) {
    one.write(path, content);
    expect((await one.sync()).leftOver).toEqual([]);
  }
}

/** One file as it was in its first version. */
async function first(one: Device, path: string): Promise<PastState> {
  const { id = '' } = (await one.history.versions(path)).at(-1) ?? {};
  return { files: [one.history.pastFile(path, id)], unreadable: 0 };
}

describe('a restore of a file', () => {
  it('keeps an unsynced edit under another name, and deletes nothing on the server', async () => {
    const one = await device();
    await saved(one, 'plan.md', 'first', 'second');
    const state = await first(one, 'plan.md');
    const done = await one.restore(state, 'x', undefined, () => one.write('plan.md', 'edited meanwhile'));
    expect(done).toMatchObject({ restored: [], leftOver: [{ path: 'plan.md' }] }); // the file has changed
    expect(one.files()).toEqual({ 'plan.md': 'edited meanwhile' });

    expect(await one.restore(state, 'x')).toMatchObject({ restored: ['plan.md'], leftOver: [] });
    const both = { 'plan (conflict from laptop).md': 'edited meanwhile', 'plan.md': 'first' };
    expect(one.files()).toEqual(both);
    const { uploaded, deletedThere } = await one.sync();
    expect([[...uploaded].sort(), [...deletedThere]]).toEqual([Object.keys(both), []]);
    expect(one.files()).toEqual(both);
  });

  it('removes no file with content that the server does not have', async () => {
    const one = await device();
    await saved(one, 'plan.md', 'first');
    await saved(one, 'later.md', 'later');
    one.write('later.md', 'edited');
    const state = await one.history.stateAt(
      new Date((await one.history.versions('plan.md'))[0]?.savedAt ?? 0),
    );
    const { removed, leftOver } = await one.restore(state, 'x');
    expect([removed, leftOver]).toEqual([[], [{ path: 'later.md', reason: expect.stringMatching(/stays/) }]]);
    expect(one.files()['later.md']).toBe('edited');
    await one.sync();
    expect((await one.restore(state, 'x')).removed).toEqual(['later.md']);
  });

  it('does not restore a file again that was edited after an interrupted attempt restored it', async () => {
    const one = await device();
    await saved(one, 'plan.md', 'first', 'second');
    const state = await first(one, 'plan.md');
    expect((await one.restore(state, 'x', undefined, nothing, true)).restored).toEqual(['plan.md']);
    await saved(one, 'plan.md', 'edited since');
    expect(await one.restore(state, 'x')).toMatchObject({ before: ['plan.md'], restored: [] });
    expect(one.files()).toEqual({ 'plan.md': 'edited since' });
    expect(await one.versions('plan.md')).toBe(3);
    expect((await one.restore(state, 'x')).restored).toEqual(['plan.md']);
  });

  it('makes no copy of a file that already has the content', async () => {
    const one = await device();
    await saved(one, 'plan.md', 'first', 'second');
    one.write('plan.md', 'first');
    expect(await one.restore(await first(one, 'plan.md'), 'x')).toMatchObject({ same: ['plan.md'] });
    expect(one.files()).toEqual({ 'plan.md': 'first' });
  });

  it('loses no file when the disk fails between the copy and the file', async () => {
    const one = await device();
    await saved(one, 'plan.md', 'first', 'second');
    one.write('plan.md', 'edited');
    let places = 0;
    const full = (call: string): void => {
      if (call === 'place' && ++places === 2) throw new DiskError('full', 'the disk is full');
    };
    const done = await one.restore(await first(one, 'plan.md'), 'x', watched(one.root, full, nothing));
    expect(done.leftOver).toEqual([{ path: 'plan.md', reason: 'the disk is full' }]);
    expect([...(await one.sync()).deletedThere]).toEqual([]);
    expect(one.files()).toEqual({ 'plan (conflict from laptop).md': 'edited', 'plan.md': 'edited' });
  });

  it('makes one copy of an unsynced edit, even when it is killed between copy and file', async () => {
    const one = await device();
    await saved(one, 'plan.md', 'first', 'second');
    one.write('plan.md', 'edited');
    const state = await first(one, 'plan.md');
    for (let kill = 0; kill < 2; kill++) {
      let places = 0;
      const killed = (call: string): void => {
        if (call === 'place' && ++places === 2 - kill) throw new Killed();
      };
      await expect(
        one.restore(state, 'x', watched(one.root, killed, nothing), nothing, true),
      ).rejects.toThrow(Killed);
      expect(one.files()).toEqual({ 'plan (conflict from laptop).md': 'edited', 'plan.md': 'edited' });
    }
    expect((await one.restore(state, 'x')).restored).toEqual(['plan.md']);
    expect(one.files()).toEqual({ 'plan (conflict from laptop).md': 'edited', 'plan.md': 'first' });
  });

  it('writes no dangerous path, and none that a rule ignores', async () => {
    const one = await device();
    await saved(one, 'secret.txt', 'first', 'second');
    await saved(one, '.cloudsyncignore', '*.txt\n');
    // Another client of the vault could have written this: it decrypts.
    const hook = encryptPath(one.keys, '.git/hooks/post-checkout');
    const envelope = await encryptContent(one.keys, hook, Buffer.from('#!/bin/sh\n'));
    await one.real.put(hook, Buffer.from(envelope)).expect(201);
    const oldest = async (path: string) =>
      one.history.pastFile(path, (await one.history.versions(path)).at(-1)?.id ?? '');
    const files = [await oldest('secret.txt'), await oldest('.git/hooks/post-checkout')];
    for await (const answer of one.history.contents(files)) expect(answer).toHaveProperty('content');
    const { leftOver, restored } = await one.restore({ files, unreadable: 0 }, 'x');
    expect([restored, leftOver.map(({ path }) => path)]).toEqual([
      [],
      ['secret.txt', '.git/hooks/post-checkout'],
    ]);
    expect(one.files()).toEqual({ '.cloudsyncignore': '*.txt\n', 'secret.txt': 'second' });
  });

  it('skips a version that is gone or does not decrypt, and restores the others', async () => {
    const one = await device();
    await saved(one, 'good.md', 'first', 'second');
    await saved(one, 'bad.md', 'first', 'second');
    const good = await first(one, 'good.md');
    const bad = await one.history.versions('bad.md');
    const gone = one.history.pastFile('gone.md', bad[0]?.id ?? '');
    const moved = { ...one.history.pastFile('bad.md', bad[1]?.id ?? '') };
    await at.service.database.query(
      `UPDATE versions v SET blob_id = o.blob_id, content_hash = o.content_hash, encrypted_size = o.encrypted_size
       FROM versions o WHERE v.id = $1 AND o.id = $2`,
      [bad[1]?.id, (await one.history.versions('good.md'))[0]?.id],
    );
    const { restored, leftOver } = await one.restore(
      { files: [gone, moved, ...good.files], unreadable: 0 },
      'x',
    );
    expect(restored).toEqual(['good.md']);
    expect(leftOver.map(({ path }) => path).sort()).toEqual(['bad.md', 'gone.md']);
    expect(one.files()).toEqual({ 'bad.md': 'second', 'good.md': 'first' });
  });
});

async function contentsOf(one: Device, path: string): Promise<string[]> {
  const versions = await one.history.versions(path);
  const found: string[] = [];
  for await (const answer of one.history.contents(versions.map(({ id }) => one.history.pastFile(path, id))))
    if ('content' in answer) found.push(Buffer.from(answer.content).toString());
  return found;
}

describe('a restore of a folder that is killed at any step', () => {
  it.each(['before', 'after'] as const)('continues where it was killed (%s each step)', async (moment) => {
    const one = await device();
    for (const name of ['a/1.md', 'a/2.md', 'same.md', 'edited.md']) one.write(name, `old ${name}`);
    await one.sync();
    const then = one.files();
    const { id } = await one.history.createCheckpoint('old');
    for (const name of ['a/1.md', 'edited.md', 'b/3.md']) one.write(name, `new ${name}`);
    one.remove('a/2.md');
    await one.sync();
    one.write('edited.md', 'edited here, and nowhere else');
    const state = await one.history.stateAtCheckpoint(id);
    let kills = 0;
    for (let isDone = false; !isDone; kills++) {
      let left = kills;
      const kill = (): void => {
        if (left-- === 0) throw new Killed();
      };
      const disk = moment === 'before' ? watched(one.root, kill, nothing) : watched(one.root, nothing, kill);
      isDone = await one.restore(state, id, disk).then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(Killed);
          return false;
        },
      );
      if (kills % 3 === 2) await one.sync(); // as `watch` may, after the next start
    }
    expect(kills).toBeGreaterThan(3);
    await one.sync();
    const { 'edited (conflict from laptop).md': kept, ...files } = one.files();
    expect(files).toEqual(then);
    expect(kept ?? (await contentsOf(one, 'edited.md'))).toContain('edited here, and nowhere else');
    for (const [name, count] of [
      ['a/1.md', 3],
      ['same.md', 1],
      ['a/2.md', 2],
    ] as const)
      expect([name, await one.versions(name)]).toEqual([name, count]);
  });
});

describe('history', () => {
  it('creates one checkpoint even when the answer is lost', async () => {
    const one = await device();
    await saved(one, 'plan.md', 'first');
    at.proxy.set(({ method, path }) =>
      method === 'POST' && path.endsWith('/checkpoints') ? { kind: 'cut after sending' } : undefined,
    );
    expect(await one.history.createCheckpoint('mark')).toMatchObject({ label: 'mark', cursor: 1 });
    expect(await one.history.checkpoints()).toHaveLength(1);
    at.proxy.set(() => ({ kind: 'reset' }));
    await expect(one.history.createCheckpoint('mark')).rejects.toThrow(NetworkError);
  });

  it('omits labels and names that do not decrypt, and shows the others', async () => {
    const one = await device();
    await saved(one, 'plan.md', 'first');
    const foreign = await deriveVaultKeys(newMasterKey());
    const { path } = one.real;
    const labels = [await encryptLabel(foreign, 'x'), await encryptLabel(one.keys, 'ours')];
    for (const encryptedLabel of labels)
      await at.user.post(`${path}/checkpoints`).send({ encryptedLabel, kind: 'manual' }).expect(201);
    expect((await one.history.checkpoints()).map(({ label }) => label)).toEqual(['ours', undefined]);
    await one.real.put(encryptPath(foreign, 'foreign.md'), Buffer.alloc(100));
    const now = await one.history.stateAt(new Date('2100-01-01'));
    expect(now).toMatchObject({ files: [{ path: 'plan.md', then: 'now' }], unreadable: 1 });
    const before = await one.history.stateAt(new Date('2000-01-01'));
    expect(before).toMatchObject({ files: [{ path: 'plan.md', then: 'absent' }], unreadable: 1 });
  });

  it('fails when the change log was shortened, instead of guessing', async () => {
    const one = await device();
    await saved(one, 'plan.md', 'first', 'second');
    await at.service.database.query('UPDATE workspaces SET compaction_floor = 1 WHERE id = $1', [
      one.real.id,
    ]);
    await expect(one.history.stateAt(new Date())).rejects.toThrow(/shortened its change log/);
  });
});
