import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as client from '../../../client/src/core/index.js';
import { KeySlots } from '../../../client/src/core/vault/key-slots.js';
import { unlock, type Unlocked } from '../../../client/src/core/vault/unlock.js';
import { openVault, setUpAccount } from '../../../examples/demo/account.js';
import { loadJson, saveJson } from '../../../examples/json-file.js';
import {
  decryptAsset,
  decryptContent,
  decryptLabel,
  deriveMasterKey,
  deriveVaultKeys,
  encryptAsset,
  encryptAssetName,
  encryptContent,
  encryptLabel,
  encryptPath,
  formatRecoveryKey,
  type VaultKeys,
  verificationHash,
} from '../../../crypto/src/index.js';
import { TestAssets } from '../../kit/assets.js';
import { FolderDevice } from '../../kit/folder-device.js';
import { startService, type TestService, type TestUser, TestWorkspace } from '../../kit/index.js';
import { Random } from '../../kit/random.js';

const COMMAND = join(import.meta.dirname, '..', '..', '..', 'dist', 'examples', 'vault', 'main.js');
/** For a realistic number: ROTATION_NOTES=500 npx jest vault */
const NOTES = Number(process.env['ROTATION_NOTES'] ?? 40);
const KILLS = 10;
const LONGEST_MS = 60 * 60_000; // for any ROTATION_NOTES
const PASSWORD = 'the password of the vault';
const NEW_PASSWORD = 'another password of the vault';

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

let service: TestService;
let home: string;
let users = 0;
beforeAll(async () => {
  service = await startService({ isAtBaseUrl: true, env: { LOG_LEVEL: 'silent' } });
  home = await mkdtemp(join(tmpdir(), 'vault-command-'));
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
  await service.close();
});

const someone = (): Promise<TestUser> => service.user(`vault-${++users}`);

function start(user: TestUser, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [COMMAND, ...args], {
    cwd: home,
    env: {
      PATH: process.env['PATH'],
      BASE_URL: service.url,
      ACCESS_TOKEN: user.token,
      INIT_CWD: home,
      ...env,
    },
    stdio: 'pipe',
  });
}

/** @param answers to the questions, one a line; a function gets what has been printed so far */
async function run(
  user: TestUser,
  args: readonly string[],
  { env = {}, answers = [] }: { env?: Record<string, string>; answers?: ((out: string) => string)[] } = {},
): Promise<Run> {
  const child = start(user, args, env);
  let [out, err, asked] = ['', '', 0];
  child.stdout?.on('data', (chunk) => (out += String(chunk)));
  child.stdin?.on('error', () => undefined);
  child.stderr?.on('data', (chunk) => {
    err += String(chunk);
    for (
      ;
      (err.match(/(?:before\)|of the vault): /g) ?? []).length > asked && asked < answers.length;
      asked++
    )
      child.stdin?.write(`${answers[asked]?.(out)}\n`);
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, out, err };
}

const session = (user: TestUser): client.Session => client.Session.withAccessToken(service.url, user.token);
const open = (user: TestUser, id: string, password: string): Promise<Unlocked> =>
  unlock(new KeySlots(session(user), id), { password }, false);
const newVault = async (user: TestUser): Promise<string> =>
  (await client.Vault.create(session(user), 'notes', PASSWORD)).workspaceId;

/** Sets up a vault as clients did before key slots. */
async function oldVault(
  user: TestUser,
): Promise<{ workspace: TestWorkspace; masterKey: Uint8Array; salt: string }> {
  const workspace = await user.workspace();
  const [encryptionSalt, verificationSalt] = ['5a'.repeat(32), 'a5'.repeat(32)];
  const masterKey = await deriveMasterKey(PASSWORD, encryptionSalt);
  const setup = {
    encryptionSalt,
    verificationSalt,
    verificationHash: await verificationHash(masterKey, verificationSalt),
  };
  await user.post(`${workspace.path}/setup-encryption`).send(setup).expect(200);
  return { workspace, masterKey, salt: encryptionSalt };
}

describe('vault commands', () => {
  it('create a vault that the Automation API opens', async () => {
    const user = await someone();
    const { code, out } = await run(user, ['create', 'my notes'], { env: { NEW_VAULT_PASSWORD: PASSWORD } });
    const id = out.trim();
    expect(code).toBe(0);
    const path = `/api/v1/automation/workspaces/${id}/key-sessions`;
    await user.post(path).send({ password: PASSWORD }).expect(201);
    expect((await open(user, id, PASSWORD)).openedBy?.kind).toBe('password');
  });

  it('change the password, even twice in a row', async () => {
    const user = await someone();
    const id = await newVault(user);
    const env = { VAULT_PASSWORD: PASSWORD, NEW_VAULT_PASSWORD: NEW_PASSWORD };
    expect((await run(user, ['password', id], { env })).code).toBe(0);
    expect((await run(user, ['password', id], { env })).code).toBe(0);
    await expect(open(user, id, PASSWORD)).rejects.toThrow(client.WrongSecret);
    expect((await open(user, id, NEW_PASSWORD)).listed).toHaveLength(1);
  });

  it('create a recovery key that counts once typed correctly, and opens despite typos', async () => {
    const user = await someone();
    const id = await newVault(user);
    const key = (out: string): string => out.trim();
    const swapped = (out: string): string =>
      key(out).replace(/^(.)(.)/, (_, a, b) => (a === b ? `${a}0` : `${b}${a}`));
    const made = await run(user, ['recovery', id], {
      env: { VAULT_PASSWORD: PASSWORD },
      answers: [(out) => key(out).slice(1), swapped, (out) => key(out).replaceAll('-', ' ').toLowerCase()],
    });
    expect([made.code, made.err]).toEqual([0, expect.stringMatching(/56 characters[^]*wrong[^]*counts now/)]);
    const typed = key(made.out)
      .replaceAll('-', ' \u2013 ')
      .replaceAll('0', 'o')
      .replaceAll('1', 'l')
      .toLowerCase();
    const recovered = await run(user, ['recover', id], {
      env: { NEW_VAULT_PASSWORD: NEW_PASSWORD },
      answers: [() => typed],
    });
    expect(recovered.code).toBe(0);
    expect((await open(user, id, NEW_PASSWORD)).masterKey).toEqual(
      (await open(user, id, PASSWORD)).masterKey,
    );
  });

  it('store no recovery key that was not confirmed', async () => {
    const user = await someone();
    const id = await newVault(user);
    const other = await formatRecoveryKey(randomBytes(32));
    const { code, err } = await run(user, ['recovery', id], {
      env: { VAULT_PASSWORD: PASSWORD },
      answers: [() => other, ...Array.from({ length: 4 }, () => () => 'no key')],
    });
    expect([code, err]).toEqual([1, expect.stringContaining('this is another recovery key')]);
    expect((await open(user, id, PASSWORD)).listed.map(({ kind }) => kind)).toEqual(['password']);
  });

  it('remove a slot, but never the one that was used', async () => {
    const user = await someone();
    const id = await newVault(user);
    const { openedBy } = await open(user, id, PASSWORD);
    const env = { VAULT_PASSWORD: PASSWORD };
    const refused = await run(user, ['remove', id, openedBy!.id], { env });
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('by another key slot')]);
    const made = await run(user, ['recovery', id], { env, answers: [(out) => out.trim()] });
    const removed = await run(user, ['remove', id, openedBy!.id], { env: { RECOVERY_KEY: made.out.trim() } });
    expect([removed.code, removed.err]).toEqual([0, expect.stringContaining('deleted')]);
    await expect(open(user, id, PASSWORD)).rejects.toThrow(client.WrongSecret);
  });

  it('report a wrong password in one sentence', async () => {
    const user = await someone();
    const id = await newVault(user);
    const env = { VAULT_PASSWORD: 'a guess', NEW_VAULT_PASSWORD: NEW_PASSWORD };
    const { code, err } = await run(user, ['password', id], { env });
    expect([code, err.trim()]).toEqual([1, 'the vault password is wrong']);
    expect((await run(user, ['password'])).err).toMatch(/^usage:/);
  });
});

describe('a vault from before key slots', () => {
  it('gets one slot when a client opens it, and old clients still derive its key', async () => {
    const user = await someone();
    const { workspace, masterKey, salt } = await oldVault(user);
    const env = { VAULT_PASSWORD: PASSWORD };
    for (let attempt = 0; attempt < 2; attempt++)
      expect(
        (await run(user, ['recovery', workspace.id], { env, answers: [(out) => out.trim()] })).code,
      ).toBe(0);
    const { listed, masterKey: opened } = await open(user, workspace.id, PASSWORD);
    expect(listed.filter(({ kind }) => kind === 'password')).toHaveLength(1);
    expect(opened).toEqual(masterKey);
    await client.Vault.changePassword(session(user), workspace.id, { old: PASSWORD, fresh: NEW_PASSWORD });
    expect((await open(user, workspace.id, NEW_PASSWORD)).masterKey).toEqual(
      await deriveMasterKey(PASSWORD, salt),
    );
  });
});

describe('vault rotate', () => {
  it(
    `moves ${NOTES} notes with their history, checkpoints and assets, through ${KILLS} kills`,
    async () => {
      const user = await someone();
      const oldId = await newVault(user);
      const world = await World.fill(user, oldId);
      const env = { VAULT_PASSWORD: PASSWORD, NEW_VAULT_PASSWORD: NEW_PASSWORD };
      for (let kill = 1; kill <= KILLS; kill++) {
        const child = start(user, ['rotate', oldId], env);
        const ended = new Promise<NodeJS.Signals | null>((resolve) =>
          child.once('close', (_, signal) => resolve(signal)),
        );
        await (kill < KILLS ? world.hasChanges(kill / (KILLS - 1), child) : world.hasAssets(child));
        child.kill('SIGKILL');
        expect(await ended).toBe('SIGKILL');
      }
      const { code, out, err } = await run(user, ['rotate', oldId], { env });
      expect([code, err]).toEqual([0, expect.stringContaining('The old one is deleted')]);
      const newId = out.trim();
      await user.get(`/api/v1/workspaces/${oldId}`).expect(404);
      const fresh = await open(user, newId, NEW_PASSWORD);
      await world.expectIn(new TestWorkspace(user, newId), await deriveVaultKeys(fresh.masterKey));
      await expect(open(user, newId, PASSWORD)).rejects.toThrow(client.WrongSecret);
    },
    LONGEST_MS,
  );

  it('deletes nothing when a version in the new workspace is not the one that was copied', async () => {
    const user = await someone();
    const oldId = await newVault(user);
    const world = await World.fill(user, oldId, 4);
    const env = { VAULT_PASSWORD: PASSWORD, NEW_VAULT_PASSWORD: NEW_PASSWORD };
    const child = start(user, ['rotate', oldId], env);
    const ended = new Promise((resolve) => child.once('close', resolve));
    await world.hasChanges(1, child);
    child.kill('SIGKILL');
    await ended;
    const { length } = await service.database.query(
      `UPDATE versions v SET blob_id = o.blob_id, content_hash = o.content_hash, encrypted_size = o.encrypted_size
       FROM versions o JOIN files f ON f.workspace_id = o.workspace_id AND f.id = o.file_id
       JOIN workspaces w ON w.id = o.workspace_id
       WHERE w.user_id = $1 AND w.id <> $2 AND v.workspace_id = o.workspace_id AND v.file_id = o.file_id
         AND o.version = f.version AND v.version = 1 AND f.version > 1 RETURNING v.id`,
      [user.id, oldId],
    );
    expect(length).toBeGreaterThan(0);
    const { code, err } = await run(user, ['rotate', oldId], { env });
    expect([code, err]).toEqual([1, expect.stringContaining('differs in the new workspace')]);
    await user.get(`/api/v1/workspaces/${oldId}`).expect(200);
  });

  /** Replaces `fetch` of the client; requests are sent once. */
  type Fetch = NonNullable<client.HttpOptions['fetch']>;

  async function rotationOf(user: TestUser, oldId: string, asked: Fetch = fetch): Promise<string> {
    const options = { fetch: asked, retries: { attempts: 1 } };
    const file = join(home, `rotation-${oldId}.json`);
    const direct = client.Session.withAccessToken(service.url, user.token);
    const vault = await client.rotate({
      session: client.Session.withAccessToken(service.url, user.token, options),
      oldId,
      unlockOld: async () => (await client.Vault.unlock(direct, oldId, { password: PASSWORD })).keys,
      newPassword: NEW_PASSWORD,
      store: {
        load: () => loadJson<client.RotationRecord>(file),
        save: (record) => saveJson(file, record),
      },
    });
    return vault.workspaceId;
  }

  /** Does `work` once, when the rotation begins to compare. */
  function whenComparing(oldId: string, work: () => Promise<unknown>): Fetch {
    let isDone = false;
    return async (url, init) => {
      if (!isDone && url.includes('/versions/') && !url.includes(oldId)) {
        isDone = true;
        await work();
      }
      return fetch(url, init);
    };
  }

  it('copies changes that are written while it compares', async () => {
    const user = await someone();
    const oldId = await newVault(user);
    const world = await World.fill(user, oldId, 2);
    const write = jest.fn(() => world.write('meanwhile.md', 'written meanwhile'));
    const newId = await rotationOf(user, oldId, whenComparing(oldId, write));
    expect(write).toHaveBeenCalled();
    const fresh = await open(user, newId, NEW_PASSWORD);
    await world.expectIn(new TestWorkspace(user, newId), await deriveVaultKeys(fresh.masterKey));
  });

  it('completes although each attempt loses the response to its last request', async () => {
    const user = await someone();
    const oldId = await newVault(user);
    const world = await World.fill(user, oldId, 2);
    let newId: string | undefined;
    for (let allowed = 1; newId === undefined; allowed += 7) {
      let left = allowed;
      const lossy: Fetch = async (url, init) => {
        const answer = await fetch(url, init);
        const isLast = init.method === 'DELETE' && url.endsWith(oldId);
        if (--left < 0 || isLast) throw new TypeError('the answer is lost');
        return answer;
      };
      newId = await rotationOf(user, oldId, lossy).catch((error: unknown) => {
        expect(error).toBeInstanceOf(client.NetworkError);
        return undefined;
      });
    }
    await user.get(`/api/v1/workspaces/${oldId}`).expect(404);
    const fresh = await open(user, newId, NEW_PASSWORD);
    await world.expectIn(new TestWorkspace(user, newId), await deriveVaultKeys(fresh.masterKey));
  });

  it('deletes nothing when a checkpoint marks another state', async () => {
    const user = await someone();
    const oldId = await newVault(user);
    await World.fill(user, oldId, 2);
    const move = (): Promise<unknown> =>
      service.database.query(
        `UPDATE checkpoints c SET cursor = cursor - 1 FROM workspaces w
         WHERE w.id = c.workspace_id AND w.user_id = $1 AND w.id <> $2 AND c.cursor = w.head_cursor`,
        [user.id, oldId],
      );
    await expect(rotationOf(user, oldId, whenComparing(oldId, move))).rejects.toThrow(
      'the checkpoints differ',
    );
    await user.get(`/api/v1/workspaces/${oldId}`).expect(200);
  });

  it('deletes nothing when another rotation has begun with the same file', async () => {
    const user = await someone();
    const oldId = await newVault(user);
    const world = await World.fill(user, oldId, 2);
    let other = '';
    const begin = async (): Promise<void> => {
      await rm(join(home, `rotation-${oldId}.json`));
      const cut: Fetch = (url, init) =>
        url.endsWith('/sync/status') ? Promise.reject(new TypeError('the power is gone')) : fetch(url, init);
      await expect(rotationOf(user, oldId, cut)).rejects.toThrow(client.NetworkError);
      other = JSON.parse(await readFile(join(home, `rotation-${oldId}.json`), 'utf8')).newId;
    };
    await expect(rotationOf(user, oldId, whenComparing(oldId, begin))).rejects.toThrow(
      'another rotation of this workspace',
    );
    await user.get(`/api/v1/workspaces/${oldId}`).expect(200);
    expect(await rotationOf(user, oldId)).toBe(other);
    const fresh = await open(user, other, NEW_PASSWORD);
    await world.expectIn(new TestWorkspace(user, other), await deriveVaultKeys(fresh.masterKey));
  });

  it('starts over when the new workspace was deleted', async () => {
    const user = await someone();
    const oldId = await newVault(user);
    const world = await World.fill(user, oldId, 2);
    let deleted = '';
    const remove = async (): Promise<void> => {
      deleted = JSON.parse(await readFile(join(home, `rotation-${oldId}.json`), 'utf8')).newId;
      await user.delete(`/api/v1/workspaces/${deleted}`).expect(200);
    };
    await expect(rotationOf(user, oldId, whenComparing(oldId, remove))).rejects.toThrow();
    const newId = await rotationOf(user, oldId);
    expect(newId).not.toBe(deleted);
    const fresh = await open(user, newId, NEW_PASSWORD);
    await world.expectIn(new TestWorkspace(user, newId), await deriveVaultKeys(fresh.masterKey));
  });

  it('encrypts nothing under a derived key when the service hides the new slot', async () => {
    const user = await someone();
    const oldId = await newVault(user);
    await World.fill(user, oldId, 2);
    const sent: string[] = [];
    const hostile: Fetch = (url, init) => {
      if (url.includes(oldId)) return fetch(url, init);
      sent.push(`${init.method} ${url.replace(/.*\//, '')}`);
      if (url.endsWith('/key-slots') && init.method === 'GET')
        return Promise.resolve(
          Response.json({ encryptionSalt: '00'.repeat(32), verificationSalt: '00'.repeat(32), slots: [] }),
        );
      if (url.endsWith('/verify-password')) return Promise.resolve(Response.json({ valid: true }));
      return fetch(url, init);
    };
    await expect(rotationOf(user, oldId, hostile)).rejects.toThrow('no longer returns the key slots');
    expect(sent.at(-1)).toBe('GET key-slots');
  });

  it('stops at content that it cannot read, and continues with later changes', async () => {
    const user = await someone();
    const oldId = await newVault(user);
    const keys = await deriveVaultKeys((await open(user, oldId, PASSWORD)).masterKey);
    const workspace = new TestWorkspace(user, oldId);
    const token = encryptAssetName(keys, 'damaged.png');
    await TestAssets.of(workspace).create(token, Buffer.alloc(100, 1)).expect(201);
    const env = { VAULT_PASSWORD: PASSWORD, NEW_VAULT_PASSWORD: NEW_PASSWORD };
    expect((await run(user, ['rotate', oldId], { env })).code).toBe(1);
    await user.get(`/api/v1/workspaces/${oldId}`).expect(200);
    await user.delete(`/api/assets/${token}`).set('X-Workspace-Id', oldId).expect(200);
    const path = encryptPath(keys, 'late.md');
    const sealed = Buffer.from(await encryptContent(keys, path, Buffer.from('late')));
    await workspace.put(path, sealed).expect(201);
    const { out } = await run(user, ['rotate', oldId], { env });
    const fresh = await deriveVaultKeys((await open(user, out.trim(), NEW_PASSWORD)).masterKey);
    const late = encryptPath(fresh, 'late.md');
    const { body } = await new TestWorkspace(user, out.trim()).get(late).expect(200);
    expect(Buffer.from(await decryptContent(fresh, late, body as Buffer)).toString()).toBe('late');
  });
});

describe('a device', () => {
  async function device(
    name: string,
    account: Awaited<ReturnType<typeof setUpAccount>>,
  ): Promise<FolderDevice> {
    return new FolderDevice(name, home, await openVault(service.url, account));
  }

  it('syncs during a password change, and keeps its files when the workspace is deleted', async () => {
    const file = join(home, 'account.json');
    const account = await setUpAccount(service.url, file, 'notes');
    const [laptop, phone] = [await device('laptop', account), await device('phone', account)];
    await writeFile(join(laptop.root, 'a.md'), 'before');
    await laptop.sync();
    const workspaceId = account.workspaceId!;
    const signedIn = await client.Session.signIn(service.url, account);
    const change = client.Vault.changePassword(signedIn, workspaceId, {
      old: account.vaultPassword,
      fresh: NEW_PASSWORD,
    });
    for (let note = 0; note < 5; note++) {
      await writeFile(join(laptop.root, `${note}.md`), 'meanwhile');
      await laptop.sync();
    }
    await change;
    await phone.sync();
    await expect(openVault(service.url, account)).rejects.toThrow(client.WrongSecret);
    const tablet = await device('tablet', { ...account, vaultPassword: NEW_PASSWORD });
    await tablet.sync();
    for (const one of [laptop, phone, tablet])
      expect([...(await one.files()).keys()]).toEqual(['0.md', '1.md', '2.md', '3.md', '4.md', 'a.md']);

    await signedIn.send({ method: 'DELETE', path: `/api/v1/workspaces/${workspaceId}` });
    expect((await phone.sync()).stopped).toContain('404');
    const kept = await phone.files();
    expect([kept.size, kept.get('a.md')]).toEqual([6, 'before']);
  });

  it('creates another vault when a crash left one that nothing opens', async () => {
    await mkdir(join(home, 'crashed'));
    const file = join(home, 'crashed', 'account.json');
    const account = await setUpAccount(service.url, file, 'notes');
    const { workspaceId, hasKeySlots, ...before } = account;
    expect([workspaceId, hasKeySlots]).toEqual([expect.any(String), true]);
    await writeFile(file, JSON.stringify(before)); // as it was until the first slot was stored
    const again = await setUpAccount(service.url, file, 'notes');
    expect(again.workspaceId).not.toBe(workspaceId);
    expect((await openVault(service.url, again)).workspaceId).toBe(again.workspaceId);
  });

  it('does not derive a key when the service hides the slots', async () => {
    await mkdir(join(home, 'hidden'));
    const account = await setUpAccount(service.url, join(home, 'hidden', 'account.json'), 'notes');
    const masterKey = await deriveMasterKey(account.vaultPassword, '00'.repeat(32));
    await service.database.query('DELETE FROM key_slots WHERE workspace_id = $1', [account.workspaceId]);
    await service.database.query(
      'UPDATE workspaces SET encryption_salt = $2, verification_salt = $2, verification_hash = $3 WHERE id = $1',
      [account.workspaceId, '00'.repeat(32), await verificationHash(masterKey, '00'.repeat(32))],
    );
    const send = jest.spyOn(globalThis, 'fetch');
    await expect(openVault(service.url, account)).rejects.toThrow('no longer returns the key slots');
    const sent = send.mock.calls.map(([url]) => url as string);
    send.mockRestore();
    expect(sent.at(-1)).toMatch(/key-slots$/); // no proof from which the password could be guessed
  });
});

/** A vault with history, and its expected content. */
class World {
  private readonly histories = new Map<string, string[]>();
  private readonly alive = new Map<string, string>();
  private readonly checkpoints: [string, Map<string, string>][] = [];
  private readonly assets = new Map<string, string>();
  private changes = 0;

  private constructor(
    private readonly workspace: TestWorkspace,
    private readonly keys: VaultKeys,
  ) {}

  static async fill(user: TestUser, id: string, notes = NOTES): Promise<World> {
    const { masterKey } = await open(user, id, PASSWORD);
    const world = new World(new TestWorkspace(user, id), await deriveVaultKeys(masterKey));
    const random = new Random(7);
    for (let write = 0; write < notes * 3; write++) {
      const path = `folder ${write % 7}/n\u00f6te ${write < notes ? write : Math.floor(random.next() * notes)}.md`;
      if (write > notes && random.next() < 0.15 && world.alive.has(path)) await world.remove(path);
      else await world.write(path, `${write} ${'x'.repeat(Math.floor(random.next() * 2_000))}`);
      if (write % notes === Math.floor(notes / 2)) await world.mark(`checkpoint ${write} \u2013 na\u00efve`);
    }
    await world.mark('the end');
    for (let asset = 0; asset < 5; asset++) await world.attach(`picture ${asset}.png`, `pixels ${asset}`);
    return world;
  }

  /** Waits until the new workspace has this part of the changes, or the child has ended. */
  hasChanges(part: number, child: ChildProcess): Promise<void> {
    return this.until('head_cursor::int', Math.ceil(this.changes * part), child);
  }

  hasAssets(child: ChildProcess): Promise<void> {
    const count = '(SELECT count(*) FROM assets a WHERE a.workspace_id = w.id)::int';
    return this.until(count, this.assets.size, child);
  }

  private async until(count: string, enough: number, child: ChildProcess): Promise<void> {
    const sql = `SELECT max(${count}) AS count FROM workspaces w WHERE user_id = $1 AND id <> $2 AND deleted_at IS NULL`;
    while (child.exitCode === null) {
      const rows = await service.database.query(sql, [this.workspace.user.id, this.workspace.id]);
      if (((rows[0] as { count: number | null }).count ?? 0) >= enough) return;
    }
  }

  async expectIn(workspace: TestWorkspace, keys: VaultKeys): Promise<void> {
    for (const [path, contents] of this.histories) {
      const encryptedPath = encryptPath(keys, path);
      const versions = (await workspace.versions(encryptedPath)).toReversed();
      const found: string[] = [];
      for (const { id } of versions) found.push(await this.contentOf(workspace, keys, encryptedPath, id));
      expect([path, found]).toEqual([path, contents]);
      const { status, body } = await workspace.get(encryptedPath);
      const current =
        status === 200
          ? Buffer.from(await decryptContent(keys, encryptedPath, body as Buffer)).toString()
          : undefined;
      expect(current).toBe(this.alive.get(path));
    }
    const { body } = await workspace.user.get(`${workspace.path}/checkpoints`).expect(200);
    const listed = (body.checkpoints as { id: string; encryptedLabel: string }[]).toReversed();
    const labels = await Promise.all(listed.map(({ encryptedLabel }) => decryptLabel(keys, encryptedLabel)));
    expect(labels).toEqual(this.checkpoints.map(([label]) => label));
    for (const [index, [, state]] of this.checkpoints.entries())
      for (const path of this.histories.keys())
        expect(await this.noteAt(workspace, keys, listed[index]!.id, path)).toBe(state.get(path));
    for (const [name, content] of this.assets) {
      const token = encryptAssetName(keys, name);
      const { text } = await workspace.user
        .get(`/api/assets/${token}`)
        .set('X-Workspace-Id', workspace.id)
        .expect(200);
      const asset = await decryptAsset(keys, Buffer.from(text, 'base64'));
      expect(Buffer.from(asset).toString()).toBe(content);
    }
    const list = await workspace.user.get('/api/assets/list').set('X-Workspace-Id', workspace.id).expect(200);
    expect(list.body).toHaveLength(this.assets.size);
  }

  private async noteAt(
    workspace: TestWorkspace,
    keys: VaultKeys,
    checkpoint: string,
    path: string,
  ): Promise<string | undefined> {
    const encPath = encryptPath(keys, path);
    const { body } = await workspace.user
      .get(`${workspace.path}/checkpoints/${checkpoint}/note-state`)
      .query({ encPath })
      .expect(200);
    return body.absent ? undefined : this.contentOf(workspace, keys, encPath, body.versionId);
  }

  private async contentOf(
    workspace: TestWorkspace,
    keys: VaultKeys,
    encryptedPath: string,
    versionId: string,
  ): Promise<string> {
    const { body } = await workspace.version(encryptedPath, versionId).expect(200);
    return Buffer.from(await decryptContent(keys, encryptedPath, body as Buffer)).toString();
  }

  async write(path: string, content: string): Promise<void> {
    const encryptedPath = encryptPath(this.keys, path);
    const envelope = await encryptContent(this.keys, encryptedPath, Buffer.from(content));
    const { status } = await this.workspace.put(encryptedPath, Buffer.from(envelope));
    expect([200, 201]).toContain(status);
    this.histories.set(path, [...(this.histories.get(path) ?? []), content]);
    this.alive.set(path, content);
    this.changes++;
  }

  private async remove(path: string): Promise<void> {
    await this.workspace.delete(encryptPath(this.keys, path)).expect(200);
    this.alive.delete(path);
    this.changes++;
  }

  private async mark(label: string): Promise<void> {
    await this.workspace.user
      .post(`${this.workspace.path}/checkpoints`)
      .send({ encryptedLabel: await encryptLabel(this.keys, label), kind: 'manual' })
      .expect(201);
    this.checkpoints.push([label, new Map(this.alive)]);
  }

  private async attach(name: string, content: string): Promise<void> {
    const envelope = Buffer.from(await encryptAsset(this.keys, Buffer.from(content)));
    await TestAssets.of(this.workspace).create(encryptAssetName(this.keys, name), envelope).expect(201);
    this.assets.set(name, content);
  }
}
