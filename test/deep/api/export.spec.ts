import { createECDH } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { decodeJwt } from 'jose';
import { AuditLog } from '../../../src/domain/auth/audit/index.js';
import { EndedSessions, UserSessions } from '../../../src/domain/auth/index.js';
import { ExportDownload } from '../../../src/domain/accounts/export/export.controller.js';
import { InFlightRequests } from '../../../src/platform/http/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import type { FairSemaphore } from '../../../src/platform/limits/index.js';
import { assetToken, envelope, TestAssets } from '../../kit/assets.js';
import { TestVault } from '../../kit/automation.js';
import { exportOf, filesIn, linesOf } from '../../kit/exports.js';
import { eventually, sha256, startService, type TestService, type TestUser } from '../../kit/index.js';

const EXPORT = '/api/v1/auth/me/export';

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { INLINE_BLOB_BYTES: '1024' } });
});
afterAll(() => service.close());

interface Manifest {
  format: string;
  formatVersion: number;
  accountId: string;
  workspaces: { id: string; cursor: number; assetsRevision: number; wasDeleted: boolean }[];
  checksums: { name: string; sha256: string; files: number }[];
}

interface ExportedVersion {
  id: string;
  fileId: string;
  version: number;
  contentHash: string;
  changeCursor: number;
  content: string | null;
}

interface ExportedFile {
  id: string;
  encryptedPath: string;
  version: number;
  isDeleted: boolean;
}

const json = (files: ReadonlyMap<string, Buffer>, name: string): unknown =>
  JSON.parse(String(files.get(name)));

const manifestIn = (files: ReadonlyMap<string, Buffer>): Manifest => json(files, 'manifest.json') as Manifest;

/** More than the buffers between service and client hold. */
const LARGE = Buffer.alloc(12_000_000, 'large');

/** Starts an export and reads it up to the first content of a file. */
async function begin(user: TestUser): Promise<{ answer: IncomingMessage; read: Buffer[] }> {
  const request = get(`${user.url}${EXPORT}`, { headers: { authorization: `Bearer ${user.token}` } });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  const read: Buffer[] = [];
  while (!Buffer.concat(read).includes('/contents/')) {
    await once(answer, 'readable');
    read.push(answer.read() as Buffer);
  }
  return { answer, read };
}

async function rest({ answer, read }: Awaited<ReturnType<typeof begin>>): Promise<Buffer> {
  for await (const chunk of answer) read.push(chunk as Buffer);
  return Buffer.concat(read);
}

/** Whether the response was cut off. */
const isAborted = (begun: Awaited<ReturnType<typeof begin>>): Promise<boolean> =>
  rest(begun).then(
    () => false,
    () => true,
  );

describe(`GET ${EXPORT}`, () => {
  it('contains the account, its lists and every version and attachment, byte for byte', async () => {
    const user = await service.user('everything');
    const workspace = await user.workspace('Diary');
    const vault = await TestVault.setUp(workspace);
    const large = Buffer.alloc(300_000, 'large');
    await workspace.put('b25l', 'first').expect(201);
    await workspace.put('b25l', large, 'phone').expect(200);
    await workspace.put('b25l', 'third').expect(200);
    await workspace.put('dHdv', '').expect(201);
    await workspace.delete('dHdv').expect(200);
    const [, , oldest] = await workspace.versions('b25l');
    await workspace.restore('b25l', oldest!.id).expect(200);
    await workspace.checkpoint('bGFiZWw');
    const [token, bytes] = [assetToken(), envelope(5_000)];
    await TestAssets.of(workspace).create(token, bytes).expect(201);
    const { body: device } = await user
      .post('/api/v1/devices')
      .send({ name: 'Phone', platform: 'ios' })
      .expect(201);
    const keys = {
      p256dh: createECDH('prime256v1').generateKeys('base64url'),
      auth: Buffer.alloc(16).toString('base64url'),
    };
    await user
      .post('/api/v1/devices/push-subscription')
      .send({
        workspaceId: workspace.id,
        deviceId: device.id,
        endpoint: 'https://push.example.org/secret',
        keys,
      })
      .expect(201);
    const { body: minted } = await user.post('/api/v1/auth/tokens').send({ name: 'script' }).expect(201);

    const tar = await exportOf(user);
    const files = await filesIn(tar);
    expect([...files.keys()][0]).toBe('README.txt');
    expect([...files.keys()].at(-1)).toBe('manifest.json');
    expect(json(files, 'account.json')).toMatchObject({ id: user.id, email: user.email, name: 'everything' });
    expect(linesOf(files, 'devices')).toEqual([expect.objectContaining({ id: device.id, name: 'Phone' })]);
    expect(linesOf(files, 'tokens')).toEqual([expect.objectContaining({ id: minted.id, name: 'script' })]);
    expect(linesOf(files, 'key-sessions')).toHaveLength(1);
    expect(linesOf(files, 'audit')).toEqual([
      expect.objectContaining({ action: 'key-session.opened' }),
      expect.objectContaining({ action: 'token.minted', details: { name: 'script', scopes: 'full' } }),
      expect.objectContaining({ action: 'account.exported', ip: '127.0.0.1', actor: 'user' }),
    ]);

    const folder = `workspaces/${workspace.id}`;
    expect(json(files, `${folder}/workspace.json`)).toMatchObject({ name: 'Diary', cursor: 6 });
    expect(linesOf<ExportedFile>(files, `${folder}/files`)).toEqual([
      expect.objectContaining({
        encryptedPath: 'b25l',
        version: 4,
        isDeleted: false,
        contentHash: sha256('first'),
      }),
      expect.objectContaining({ encryptedPath: 'dHdv', isDeleted: true }),
    ]);
    expect(linesOf(files, `${folder}/changes`)).toHaveLength(6);
    expect(linesOf(files, `${folder}/checkpoints`)).toEqual([
      expect.objectContaining({ encryptedLabel: 'bGFiZWw', kind: 'manual' }),
    ]);
    expect(linesOf(files, `${folder}/push-subscriptions`)).toEqual([
      expect.objectContaining({ deviceId: device.id, service: 'https://push.example.org' }),
    ]);
    const versions = linesOf<ExportedVersion>(files, `${folder}/versions`);
    expect(versions.map(({ contentHash }) => contentHash)).toEqual(
      ['first', large, 'third', '', 'first'].map((content) => sha256(content)),
    );
    for (const { content, contentHash } of versions)
      expect(sha256(files.get(`${folder}/${content}`)!)).toBe(contentHash);
    expect(versions[4]!.content).toBe(versions[0]!.content); // the restored version is there once
    const [asset, ...others] = linesOf<{ token: string; content: string }>(files, `${folder}/assets`);
    expect(others).toEqual([]);
    expect(asset!.token).toBe(token);
    expect(files.get(`${folder}/${asset!.content}`)).toEqual(bytes);
    expect(vault.workspace.id).toBe(workspace.id);
  });

  it('does not reveal which administrator acted on the account, nor from where', async () => {
    const user = await service.user('governed');
    const administrator = await service.user('governor');
    await service.app.get(AuditLog).record({
      action: 'sessions.ended',
      userId: user.id,
      actor: 'administrator',
      actorId: administrator.id,
      ip: '203.0.113.77',
      userAgent: 'Browser of the administrator',
    });
    const files = await filesIn(await exportOf(user));
    expect(linesOf(files, 'audit')[0]).toEqual({
      id: expect.anything(),
      at: expect.any(String),
      action: 'sessions.ended',
      actor: 'administrator',
      ip: null,
      userAgent: null,
      details: {},
    });
  });

  it('contains no token or its hash, no password hash and no key', async () => {
    const user = await service.user('secretive');
    const workspace = await user.workspace();
    await TestVault.setUp(workspace);
    await user.post('/api/v1/auth/tokens').send({ name: 'script' }).expect(201);
    await service.database.query(
      `INSERT INTO auth_sessions (user_id, token, expires_at, updated_at) VALUES ($1, 'secret-of-a-session', now() + '1 day', now())`,
      [user.id],
    );
    await service.database.query(
      `INSERT INTO auth_accounts (user_id, account_id, provider_id, password, access_token, updated_at)
       VALUES ($1, $1::uuid::text, 'credential', 'secret-hash', 'secret-access', now())`,
      [user.id],
    );
    const [hidden] = await service.database.query<{ token: Buffer; key: Buffer; wrapped: Buffer }>(
      `SELECT t.token_hash AS token, k.token_hash AS key, k.wrapped_key AS wrapped
       FROM access_tokens t, key_sessions k WHERE t.user_id = $1 AND k.user_id = $1`,
      [user.id],
    );
    const text = (await exportOf(user)).toString('latin1');
    for (const form of ['hex', 'base64', 'base64url', 'latin1'] as const)
      for (const secret of Object.values(hidden!)) expect(text).not.toContain(secret.toString(form));
    expect(text).toContain('waysToSignIn');
    expect(text).not.toMatch(/secret-/);
  });

  it('has no proof of knowledge of a master key, which could replace the key slots', async () => {
    const user = await service.user('provable');
    const workspace = await user.workspace();
    await TestVault.setUp(workspace);
    const [{ hash } = { hash: '' }] = await service.database.query<{ hash: string }>(
      'SELECT verification_hash AS hash FROM workspaces WHERE id = $1',
      [workspace.id],
    );
    expect(hash).toHaveLength(64);
    const text = (await exportOf(user)).toString('latin1');
    expect(text).toContain('verificationSalt');
    expect(text).not.toContain('verificationHash');
    for (const form of ['hex', 'base64', 'base64url', 'latin1'] as const)
      expect(text).not.toContain(Buffer.from(hash, 'hex').toString(form));
  });

  it('lists the SHA-256 of every file, and of the lists in the manifest', async () => {
    const user = await service.user('sums');
    const workspace = await user.workspace();
    for (const path of ['YQ', 'Yg', 'Yw']) await workspace.put(path, path).expect(201);
    const files = await filesIn(await exportOf(user));
    const { checksums, ...manifest } = manifestIn(files);
    expect(manifest).toMatchObject({ format: 'account-export', formatVersion: 1, accountId: user.id });
    expect(manifest.workspaces).toEqual([
      { id: workspace.id, cursor: 3, assetsRevision: 0, wasDeleted: false },
    ]);
    const listed = checksums.flatMap(({ name, sha256: sum, files: count }) => {
      expect(sha256(files.get(name)!)).toBe(sum);
      const lines = String(files.get(name)).trimEnd().split('\n');
      expect(lines).toHaveLength(count);
      return lines;
    });
    const others = [...files].filter(([name]) => !/^(checksums\/|manifest\.json$)/.test(name));
    expect(listed).toEqual(others.map(([name, content]) => `${sha256(content)}  ${name}`));
  });

  it('is a snapshot of each workspace: later writes are not in it', async () => {
    const user = await service.user('moment');
    const workspace = await user.workspace();
    await workspace.put('YQ', LARGE).expect(201);
    await workspace.put('Yg', 'before').expect(201);
    const begun = await begin(user); // stops in the large content, which comes after the list of files
    await workspace.put('Yg', 'after').expect(200);
    await workspace.put('Yw', 'new').expect(201);
    await workspace.delete('YQ').expect(200);
    const files = await filesIn(await rest(begun));
    const folder = `workspaces/${workspace.id}`;
    const { workspaces } = manifestIn(files);
    const cursor = workspaces[0]!.cursor;
    const versions = linesOf<ExportedVersion>(files, `${folder}/versions`);
    const heads = linesOf<ExportedFile>(files, `${folder}/files`);
    expect(cursor).toBe(2);
    expect(versions.map(({ changeCursor }) => changeCursor)).toEqual([1, 2]);
    expect(heads.map(({ version, isDeleted }) => [version, isDeleted])).toEqual([
      [1, false],
      [1, false],
    ]);
  });

  it('contains nothing of another account', async () => {
    const stranger = await service.user('stranger');
    await (await stranger.workspace('Theirs')).put('YQ', 'theirs').expect(201);
    const user = await service.user('neighbour');
    const text = (await exportOf(user)).toString('latin1');
    expect(text).not.toContain(stranger.id);
    expect(text).not.toContain('Theirs');
  });
});

describe('an account export', () => {
  it('needs a session: an access token gets 403', async () => {
    const user = await service.user('by-pat');
    const { body } = await user.post('/api/v1/auth/tokens').send({ name: 'full' }).expect(201);
    await user
      .at(service.url, body.token)
      .get(EXPORT)
      .expect(403, { error: 'an interactive session is required' });
  });

  it('needs a recent sign-in', async () => {
    const user = await service.user('stale');
    service.clock.advance(11 * 60_000);
    await user.get(EXPORT).expect(403, { error: 'recent sign-in required' });
    service.clock.advance(-11 * 60_000);
    expect(await service.app.get(AuditLog).ofUser(user.id, 10)).toEqual([]);
  });

  it('is not made for HEAD, which returns only the headers', async () => {
    const user = await service.user('asks-first');
    const { headers } = await user.request('head', EXPORT).expect(200);
    expect(headers['content-type']).toBe('application/x-tar');
    expect(headers['content-disposition']).toMatch(/^attachment; filename="export-\d{4}-\d\d-\d\d\.tar"$/);
    expect(await service.app.get(AuditLog).ofUser(user.id, 10)).toEqual([]);
  });

  it('works while the service is read-only, and is cut off when it is down', async () => {
    const user = await service.user('maintained');
    const workspace = await user.workspace();
    await workspace.put('YQ', LARGE).expect(201);
    const killSwitch = service.app.get(KillSwitch);
    try {
      await killSwitch.set('read-only');
      await killSwitch.look();
      const begun = await begin(user);
      await killSwitch.set('down');
      await killSwitch.look();
      expect(await isAborted(begun)).toBe(true);
    } finally {
      await killSwitch.set('off');
      await killSwitch.look();
    }
    expect(await filesIn(await exportOf(user))).toHaveProperty('size');
  });

  it('is limited to one at a time per user: the next is 503 until the client disconnects', async () => {
    const user = await service.user('twice');
    await (await user.workspace()).put('YQ', LARGE).expect(201);
    const begun = await begin(user);
    const { headers } = await user
      .get(EXPORT)
      .expect(503, { error: 'an export of this account is under way: wait for it to end' });
    expect(headers['retry-after']).toBe('60');
    await exportOf(await service.user('somebody-else'));
    begun.answer.destroy();
    await eventually(() => exportOf(user));
  });

  it('holds no slot while its client does not read', async () => {
    const exports: unknown = service.app.get(ExportDownload, { strict: false });
    const { slots } = exports as { slots: FairSemaphore };
    const user = await service.user('reads-slowly');
    await (await user.workspace()).put('YQ', LARGE).expect(201);
    const begun = await begin(user);
    await eventually(() => expect([slots.taken, slots.owners]).toEqual([0, 0]));
    expect(service.app.get(InFlightRequests).waiting.size).toBe(1);
    expect(await filesIn(await rest(begun))).toHaveProperty('size');
    await eventually(() => expect(service.app.get(InFlightRequests).waiting.size).toBe(0));
  });

  it('is cut off when the account is suspended meanwhile', async () => {
    const user = await service.user('leaves');
    await (await user.workspace()).put('YQ', LARGE).expect(201);
    const begun = await begin(user);
    await service.database.query('UPDATE users SET suspended_at = now() WHERE id = $1', [user.id]);
    expect(await isAborted(begun)).toBe(true);
  });

  it('is cut off when its session ends', async () => {
    const user = await service.user('robbed');
    await (await user.workspace()).put('YQ', LARGE).expect(201);
    const begun = await begin(user);
    const sid = String(decodeJwt(user.token)['sid']);
    await service.app.get(UserSessions).end(user.id, sid, { actor: 'user' });
    await service.app.get(EndedSessions).look();
    expect(await isAborted(begun)).toBe(true);
  });

  it('marks a workspace that is deleted meanwhile with wasDeleted', async () => {
    const user = await service.user('tidies');
    const workspace = await user.workspace();
    await workspace.put('YQ', LARGE).expect(201);
    const begun = await begin(user);
    await user.delete(workspace.path).expect(200);
    const { workspaces } = manifestIn(await filesIn(await rest(begun)));
    expect(workspaces).toEqual([expect.objectContaining({ id: workspace.id, wasDeleted: true })]);
  });
});
