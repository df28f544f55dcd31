import { chmodSync, cpSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  deriveVaultKeys,
  encryptContent,
  encryptPath,
  type HttpOptions,
  newMasterKey,
  Session,
  type VaultKeys,
} from '../../../client/src/core/index.js';
import { deviceId, type Report, VaultCipher, WorkspaceRemote } from '../../../client/src/folder/index.js';
import { TcpLink } from '../../kit/tcp-link.js';
import { FolderDevice } from '../../kit/folder-device.js';
import { sha256, type TestWorkspace } from '../../kit/index.js';
import { ProxiedService } from '../../kit/proxied-service.js';
import { putBack } from '../../kit/put-back.js';

/** Two directories that sync with the real service: real encryption, requests and disks. */
const MIB = 1024 * 1024;
const http: HttpOptions = { sleep: () => Promise.resolve(), retries: { attempts: 2 } };

let at: ProxiedService;
beforeAll(async () => {
  at = await ProxiedService.start();
});
afterAll(() => at.close());
beforeEach(() => at.begin());
afterEach(() => at.end());

/** A folder and its state below one directory, whose copy is a copy of the machine. */
class Machine {
  stamp = '';
  /** The directory of folder and state. */
  readonly home: string;
  private readonly folder: FolderDevice;

  constructor(
    readonly name: string,
    readonly real: TestWorkspace,
    readonly keys: VaultKeys,
    /** its directory, token and network, where they differ from the usual ones */
    other: {
      readonly place?: string;
      readonly token?: string;
      readonly url?: string;
      readonly http?: HttpOptions;
    } = {},
  ) {
    const { place = name, token = at.user.token, url = at.proxy.url, http: options = http } = other;
    const session = Session.withAccessToken(url, token, options);
    this.home = join(at.home, place);
    this.folder = new FolderDevice(name, this.home, { session, workspaceId: real.id, keys });
  }

  get root(): string {
    return this.folder.root;
  }

  write(path: string, content: string | Buffer): void {
    this.folder.write(path, content);
  }

  rename(from: string, to: string): void {
    renameSync(join(this.root, from), join(this.root, to));
  }

  remove(path: string): void {
    this.folder.remove(path);
  }

  /** Every file except those of the client, with its bytes, by its name in NFC as in the vault. */
  files(): Map<string, Buffer> {
    const names = readdirSync(this.root, { recursive: true, encoding: 'utf8' });
    const synced = names.filter((name) => !name.startsWith('.cloud-sync'));
    const files = synced.filter((name) => statSync(join(this.root, name)).isFile());
    const found = files.map((name) => [name.normalize('NFC'), readFileSync(join(this.root, name))] as const);
    return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  text(path: string): string | undefined {
    return this.files().get(path)?.toString();
  }

  sync(): Promise<Report> {
    return this.folder.opened(async (folder) => {
      const report = await folder.sync();
      this.stamp = folder.stamp;
      return report;
    });
  }
}

interface Scene {
  readonly one: Machine;
  readonly two: Machine;
  readonly real: TestWorkspace;
  readonly keys: VaultKeys;
}

async function scene(): Promise<Scene> {
  const real = await at.user.workspace();
  const keys = await deriveVaultKeys(newMasterKey());
  return { one: new Machine('one', real, keys), two: new Machine('two', real, keys), real, keys };
}

/** Syncs in turn; nothing may be left over. */
async function settle(...machines: Machine[]): Promise<Report[]> {
  const reports = [];
  for (const machine of machines) {
    const report = await machine.sync();
    expect([machine.name, report.stopped, report.leftOver]).toEqual([machine.name, undefined, []]);
    reports.push(report);
  }
  return reports;
}

function expectAlike({ one, two }: Scene): void {
  const [ours, theirs] = [one.files(), two.files()];
  expect([...theirs.keys()]).toEqual([...ours.keys()]);
  for (const [path, content] of ours) expect([path, theirs.get(path)?.equals(content)]).toEqual([path, true]);
}

const asked = (method: string, part: string) =>
  at.proxy.requests.filter((request) => request.method === method && request.path.includes(part)).length;

describe('two folders', () => {
  it('end alike after files are created, edited, renamed and deleted', async () => {
    const made = await scene();
    const { one, two } = made;
    one.write('plan.md', 'a plan');
    one.write('travel/Krako\u0301w.md', 'the night train');
    one.write('travel/empty', '');
    two.write('from two.md', 'written there');
    await settle(one, two, one);
    expectAlike(made);
    expect(one.files().size).toBe(4);

    one.write('plan.md', 'a better plan');
    one.rename('travel', 'journeys');
    two.remove('from two.md');
    await settle(one, two, one);
    expectAlike(made);
    expect([one.text('plan.md'), one.text('from two.md')]).toEqual(['a better plan', undefined]);
    expect([...two.files().keys()]).toEqual(expect.arrayContaining(['journeys/empty', 'plan.md']));
    expect(two.files().size).toBe(3);
    const [quiet] = await settle(one);
    expect([quiet?.hasChanged, quiet?.rounds]).toEqual([false, 1]);
  });

  it('keep both texts of a conflict, and an edit of a file that is deleted elsewhere', async () => {
    const made = await scene();
    const { one, two } = made;
    for (const name of ['both.md', 'kept.md']) one.write(name, 'as it was');
    await settle(one, two);
    one.write('both.md', 'of one');
    one.write('kept.md', 'edited by one');
    two.write('both.md', 'of two');
    two.remove('kept.md');
    const [, report] = await settle(one, two, one);
    expect(report?.conflicts).toEqual([{ path: 'both.md', copy: 'both (conflict from two).md' }]);
    expectAlike(made);
    expect(Object.fromEntries([...one.files()].map(([path, content]) => [path, content.toString()]))).toEqual(
      {
        'both.md': 'of one',
        'both (conflict from two).md': 'of two',
        'kept.md': 'edited by one',
      },
    );
  });

  it('keep a private file and its conflict copy private', async () => {
    const made = await scene();
    const { one, two } = made;
    one.write('secret.md', 'as it was');
    await settle(one, two);
    chmodSync(join(two.root, 'secret.md'), 0o600);
    one.write('secret.md', 'of one');
    two.write('secret.md', 'of two');
    await settle(one, two);
    for (const name of ['secret.md', 'secret (conflict from two).md'])
      expect([name, statSync(join(two.root, name)).mode & 0o777]).toEqual([name, 0o600]);
  });

  it('are not stopped by a directory or a malformed line in place of the ignore rules', async () => {
    const made = await scene();
    const { one, two, real, keys } = made;
    const path = encryptPath(keys, '.cloudsyncignore/x');
    await real.put(path, Buffer.from(await encryptContent(keys, path, Buffer.from('x')))).expect(201);
    one.write('a.md', 'a');
    for (const machine of [one, two])
      expect((await machine.sync()).leftOver).toEqual([
        { path: '.cloudsyncignore/x', reason: expect.stringMatching(/ignore file/) },
      ]);
    two.write('.cloudsyncignore', '[/-/\n*.tmp\n');
    two.write('b.tmp', 'b');
    for (const machine of [two, one]) expect((await machine.sync()).stopped).toBeUndefined();
    expect([...one.files().keys()].sort()).toEqual(['.cloudsyncignore', 'a.md']);
  });

  it('send large files singly, and 300 notes in few requests', async () => {
    const made = await scene();
    const { one, two } = made;
    for (let index = 0; index < 300; index++) one.write(`notes/${index % 7}/${index}.md`, `note ${index}\n`);
    one.write('photo.jpg', randomBytes(MIB + 17));
    one.write('film.mov', randomBytes(6 * MIB));
    await settle(one, two);
    expectAlike(made);
    expect(two.files().size).toBe(302);
    const files = `/files/`;
    expect(asked('PUT', files)).toBeLessThan(10);
    expect(asked('GET', files)).toBeLessThan(10);
    expect(asked('POST', 'batch-')).toBeLessThan(20);
    two.write('film.mov', randomBytes(6 * MIB));
    await settle(two, one);
    expectAlike(made);
  });

  it('report paths and contents that cannot be decrypted, and sync the rest', async () => {
    const made = await scene();
    const { one, two, real, keys } = made;
    one.write('good.md', 'good');
    await real.put('bm90LWEtcGF0aA', 'of a careless client').expect(201);
    await real.put(encryptPath(keys, 'broken.md'), 'no envelope').expect(201);
    for (const machine of [one, two]) {
      const report = await machine.sync();
      expect([report.stopped, report.exitCode]).toEqual([undefined, 3]);
      expect(report.leftOver.map(({ path }) => path).sort()).toEqual(['bm90LWEtcGF0aA', 'broken.md']);
    }
    two.write('good.md', 'better');
    for (const machine of [two, one]) await machine.sync();
    expectAlike(made);
    expect([...one.files().keys()]).toEqual(['good.md']);
    expect(one.text('good.md')).toBe('better');

    await real.delete('bm90LWEtcGF0aA').expect(200);
    await real.delete(encryptPath(keys, 'broken.md')).expect(200);
    await settle(one, two);
  });

  it('show nothing of a large file before all of it is verified', async () => {
    const { one, two, real, keys } = await scene();
    one.write('film.mov', randomBytes(9 * MIB));
    one.write('note.md', 'note');
    await settle(one);
    const path = encryptPath(keys, 'film.mov');
    const stored = await real.get(path).buffer(true).expect(200);
    const altered = Buffer.from(stored.body as Buffer);
    altered[altered.length - 1]! ^= 1; // in the tag, behind all content
    await real.put(path, altered).expect(200);
    const report = await two.sync();
    expect(report.leftOver).toEqual([{ path: 'film.mov', reason: expect.stringMatching(/does not open/) }]);
    expect([...two.files().keys()]).toEqual(['note.md']);
    expect(readdirSync(join(two.root, '.cloud-sync/staging'))).toEqual([]);
    expect((await one.sync()).leftOver).toHaveLength(1);
    expect(one.files().get('film.mov')).toHaveLength(9 * MIB);
  });

  it('lose nothing to a server restored from a backup', async () => {
    const made = await scene();
    const { one, two, real } = made;
    one.write('old.md', 'old');
    one.write('edited.md', 'as in the backup');
    await settle(one, two);
    const { cursor } = await real.status();
    one.write('new.md', 'written after the backup');
    one.write('edited.md', 'edited after the backup');
    await settle(one, two);
    await putBack(at.service, real.id, cursor);

    const reports = await settle(one, two, one);
    expect(reports.map((report) => report.beganAnew)).toEqual([true, true, false]);
    expect(reports.flatMap(({ removedHere, deletedThere }) => [...removedHere, ...deletedThere])).toEqual([]);
    expectAlike(made);
    expect(one.text('new.md')).toBe('written after the backup');
    expect([...one.files().values()].map(String)).toEqual(
      expect.arrayContaining(['old', 'as in the backup', 'edited after the backup']),
    );
  });

  it('are separate devices even when one is a copy of the other', async () => {
    const { one, real, keys } = await scene();
    one.write('a.md', 'a');
    await settle(one);
    const copy = new Machine('one', real, keys, { place: 'copy' });
    cpSync(one.home, copy.home, { recursive: true });
    one.write('of the original.md', 'text');
    copy.write('of the copy.md', 'text');
    await settle(one, copy);
    const devices = ['of the original.md', 'of the copy.md'].map(async (name) => {
      const [newest] = await real.versions(encryptPath(keys, name));
      return newest?.device_id;
    });
    expect(await Promise.all(devices)).toEqual([`one-${one.stamp}`, `one-${copy.stamp}`]);
    expect(copy.stamp).not.toBe(one.stamp);
  });
});

describe('a sync', () => {
  it.each([
    ['a network that is gone', () => at.proxy.set(() => ({ kind: 'reset' })), /gave no whole answer/],
    [
      'a service that is down',
      () => at.proxy.set(() => ({ kind: 'answer', status: 503 })),
      /refuses with 503/,
    ],
    ['too many requests', () => at.proxy.set(() => ({ kind: 'answer', status: 429 })), /refuses with 429/],
  ])('stops with a reason, and continues the next time: %s', async (_, befall, sentence) => {
    const made = await scene();
    const { one, two } = made;
    one.write('a.md', 'a');
    befall();
    const report = await one.sync();
    expect([report.exitCode, report.stopped]).toEqual([1, expect.stringMatching(sentence)]);
    at.proxy.heal();
    await settle(one, two);
    expectAlike(made);
    expect(two.text('a.md')).toBe('a');
  });

  it('stops without access', async () => {
    const { real, keys } = await scene();
    const stranger = new Machine('stranger', real, keys, { token: 'no-token' });
    expect((await stranger.sync()).stopped).toMatch(/refuses with 401/);
  });

  it('reports files that the server refuses, and sends the rest', async () => {
    const { one, real, keys } = await scene();
    for (const name of ['a.md', 'b.md', 'large.bin']) one.write(name, name.repeat(200_000));
    const refused = encryptPath(keys, 'large.bin');
    at.proxy.set(({ method, path }) => {
      if (path.endsWith('batch-upload')) return { kind: 'answer', status: 404 }; // a service without batches
      return method === 'PUT' && path.endsWith(refused) ? { kind: 'answer', status: 413 } : undefined;
    });
    const report = await one.sync();
    expect([report.stopped, report.exitCode]).toEqual([undefined, 3]);
    expect(report.leftOver).toEqual([
      { path: 'large.bin', reason: expect.stringMatching(/refuses with 413/) },
    ]);
    expect((await real.status()).fileCount).toBe(2);
    at.proxy.heal();
    await settle(one);
  });

  it('stores nothing twice when the response to an upload was lost', async () => {
    const made = await scene();
    const { one, two, real, keys } = made;
    one.write('a.md', 'a');
    const faults = [true, true];
    at.proxy.set(({ method }) =>
      method === 'PUT' && faults.pop() ? { kind: 'cut after sending' } : undefined,
    );
    await one.sync();
    await settle(one, two);
    expectAlike(made);
    expect(await real.versions(encryptPath(keys, 'a.md'))).toHaveLength(1);
  });
});

describe('a bad network', () => {
  it('that cuts a large download three times lets it resume where it was', async () => {
    const { one, two } = await scene();
    one.write('film.mov', randomBytes(12 * MIB));
    await settle(one);
    let cuts = 0;
    const link = await TcpLink.before(at.proxy.url);
    at.proxy.set(({ method, path }) =>
      method === 'GET' && path.includes('/files/') && ++cuts <= 3
        ? { kind: 'truncate', share: 0.5 }
        : undefined,
    );
    const far = new Machine('two', two.real, two.keys, { url: link.url });
    await settle(far);
    await link.close();
    expect(far.files().get('film.mov')?.equals(one.files().get('film.mov')!)).toBe(true);
    expect(asked('GET', '/files/')).toBe(4);
    expect(link.passed / MIB).toBeLessThan(20); // 30 if each restarted
  });

  it('of 50 kB/s that cuts and loses data carries every file in a few syncs', async () => {
    const made = await scene();
    const slow = await TcpLink.before(at.proxy.url, 50_000);
    const patient: HttpOptions = { silenceMs: 6_000, retries: { attempts: 3, firstPauseMs: 1 } };
    const far = (name: string) => new Machine(name, made.real, made.keys, { url: slow.url, http: patient });
    const [one, two] = [far('one'), far('two')];
    for (let index = 0; index < 8; index++) one.write(`notes/${index}.md`, randomBytes(8_000));
    one.write('photo.jpg', randomBytes(60_000));
    let requests = 0;
    at.proxy.set(({ path }) => {
      if (!path.includes('/files')) return undefined;
      const faults = ['blackhole', 'truncate', 'cut after sending', 'reset'] as const;
      const kind = ++requests % 2 === 0 ? faults[requests / 2 - 1] : undefined;
      return kind && { kind };
    });
    for (const machine of [one, two]) {
      let report = await machine.sync();
      for (let again = 0; again < 5 && report.exitCode !== 0; again++) report = await machine.sync();
      expect([machine.name, report.exitCode, report.leftOver]).toEqual([machine.name, 0, []]);
    }
    await slow.close();
    expectAlike({ ...made, one, two });
    expect(one.files().size).toBe(9);
    for (const machine of [one, two]) expect([...machine.files().keys()].join()).not.toMatch(/conflict/);
  });
});

describe('WorkspaceRemote', () => {
  async function remote() {
    const real = await at.user.workspace();
    const session = Session.withAccessToken(at.proxy.url, at.user.token, http);
    return { real, remote: new WorkspaceRemote(session, real.id, 'one', () => '0f') };
  }

  it('reads a snapshot of several pages, and refuses to continue an interrupted one', async () => {
    const { remote: server } = await remote();
    const items = Array.from({ length: 1_001 }, (_, index) => {
      const envelope = Buffer.from(`content ${index}`);
      return { encryptedPath: `p${index}`, contentHash: sha256(envelope), envelope, base: undefined };
    });
    let stored = 0;
    for await (const { status } of server.uploadMany(items)) stored += status === 'stored' ? 1 : 0;
    expect(stored).toBe(1_001);

    const files = new Set<string>();
    for (let next: string | null | undefined; next !== null;) {
      const page = await server.snapshot(next);
      expect(page.cursor).toBe(1_001);
      for (const { encryptedPath } of page.files) files.add(encryptedPath);
      next = page.nextPageCursor;
    }
    expect(files.size).toBe(1_001);

    const first = await server.snapshot(undefined);
    at.proxy.set(() => ({ kind: 'reset' }));
    const next = first.nextPageCursor ?? '';
    await expect(server.snapshot(next)).rejects.toMatchObject({ name: 'RemoteUnavailable' });
    at.proxy.heal();
    await expect(server.snapshot(next)).rejects.toThrow(/walk that has ended/);
  });

  it('deletes files unchanged by other devices, and reports the others as conflicts', async () => {
    const { real, remote: server } = await remote();
    for (const name of ['YQ', 'Yg']) await real.put(name, name).expect(201);
    const { cursor } = await server.pull(0);
    await real.put('Yg', 'newer').expect(200);
    const deletions = ['YQ', 'Yg'].map((name) => ({
      ...{ encryptedPath: name, contentHash: sha256(name), encryptedSize: 2 },
    }));
    expect(await server.push(cursor, deletions)).toEqual({ accepted: ['YQ'], conflicts: ['Yg'] });
  });

  it('downloads no file that has grown since the log was read', async () => {
    const { real, remote: server } = await remote();
    await real.put('YQ', 'x'.repeat(2 * MIB)).expect(201);
    const seen = { encryptedPath: 'YQ', contentHash: sha256('x'), encryptedSize: MIB + 1 };
    for await (const answer of server.downloadMany([seen])) expect(answer).toBeUndefined();
    const { changes } = await server.pull(0);
    for await (const { status } of server.downloadMany(changes)) expect(status).toBe('found');
  });
});

it.each([
  ['laptop', 'laptop-0f'],
  ['Adas Rechner', 'Adas_Rechner-0f'],
  ['Köln \u{1F600}', 'K_ln__-0f'],
  ['n'.repeat(300), `${'n'.repeat(95)}-0f`],
])('a device id has the form that the server accepts: %#', (name, id) => {
  expect(deviceId(name, '0f')).toBe(id);
});

it('contents and paths of another vault cannot be decrypted', async () => {
  const [mine, other] = await Promise.all(
    [0, 1].map(async () => new VaultCipher(await deriveVaultKeys(newMasterKey()))),
  );
  const path = await mine!.encryptPath('a.md');
  const envelope = await mine!.encryptContent(path, Buffer.from('a'));
  expect(sha256(Buffer.from(await mine!.decryptContent(path, envelope)))).toBe(sha256('a'));
  for (const opening of [other!.decryptPath(path), other!.decryptContent(path, envelope)])
    await expect(opening).rejects.toMatchObject({ name: 'DoesNotOpen' });
});
