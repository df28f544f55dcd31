import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { aessiv } from '@noble/ciphers/aes.js';
import {
  encryptAsset,
  encryptAssetName,
  encryptContent,
  formatRecoveryKey,
  generateRecoveryKey,
  makePasswordSlot,
  makeRecoverySlot,
} from '../../../crypto/src/index.js';
import { TestAssets } from '../../kit/assets.js';
import { TestVault } from '../../kit/automation.js';
import { exportOf } from '../../kit/exports.js';
import {
  BrokenExport,
  decryptWorkspace,
  ExportOutput,
  exportSecret,
  keysOf,
  workspacesIn,
} from '../../../client/src/export/index.js';
import { Machine } from '../../kit/command-line.js';
import { startService, type TestService } from '../../kit/index.js';

const PASSWORD = 'the password of the vault';
const CUT_BYTES = 2_048;

describe('export', () => {
  let service: TestService;
  let home: string;
  let tar: Buffer;
  let workspaceId: string;
  beforeAll(async () => {
    service = await startService();
    home = await mkdtemp(join(tmpdir(), 'decrypt-export-'));
    const user = await service.user('writer');
    const vault = await TestVault.setUp(await user.workspace('My notes'), PASSWORD);
    workspaceId = vault.workspace.id;
    await vault.create('daily/plan.md', 'first').expect(201);
    await vault.update('daily/plan.md', 'second – naïve').expect(200);
    await vault.create('gone.md', 'deleted').expect(201);
    await vault.remove('gone.md').expect(200);
    const token = encryptAssetName(vault.keys, 'picture.png');
    await TestAssets.of(vault.workspace)
      .create(token, Buffer.from(await encryptAsset(vault.keys, Buffer.from('pixels'))))
      .expect(201);
    tar = await exportOf(user);
  });
  afterAll(async () => {
    await rm(home, { recursive: true, force: true });
    await service.close();
  });

  let runs = 0;
  async function run(
    archive: Buffer,
    password = PASSWORD,
    ...options: string[]
  ): Promise<{ code: number | null; output: string; folder: string; files: string[] }> {
    const name = join(home, String(++runs));
    await writeFile(`${name}.tar`, archive);
    const machine = new Machine(home, {});
    const args = ['export', `${name}.tar`, '--out', name, ...options];
    const { code, stdout, stderr } = await machine.run(args, {}, `${password}\n`);
    const output = stdout + stderr;
    await mkdir(name, { recursive: true }); // it does not exist when everything is refused
    const entries = await readdir(name, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    return { code, output, folder: join(name, `My notes ${workspaceId}`), files: files.sort() };
  }

  it('writes notes and attachments, byte for byte', async () => {
    const { code, output, folder, files } = await run(tar);
    expect([code, output]).toEqual([0, expect.stringContaining('My notes: 2 files in')]);
    expect(files).toEqual([join(folder, 'attachments/picture.png'), join(folder, 'notes/daily/plan.md')]);
    expect(await readFile(files[0]!, 'utf8')).toBe('pixels');
    expect(await readFile(files[1]!, 'utf8')).toBe('second – naïve');
  });

  it('writes old versions and deleted files with --versions', async () => {
    const { files } = await run(tar, PASSWORD, '--versions');
    const contents = await Promise.all(files.map((file) => readFile(file, 'utf8')));
    expect(contents.sort()).toEqual(['deleted', 'first', 'pixels', 'second – naïve']);
  });

  it.each<[string, () => Buffer, RegExp]>([
    [
      'was cut off at the end of a file',
      () => tar.subarray(0, tar.lastIndexOf('manifest.json')),
      /incomplete|end/i,
    ],
    ['was cut off in a file', () => tar.subarray(0, CUT_BYTES), /incomplete|end/i],
    [
      'was altered',
      () => Buffer.from(tar.toString('latin1').replace('"name": "My notes"', '"name": "My vault"'), 'latin1'),
      /workspace\.json differs from its checksum/,
    ],
  ])('refuses an export that %s, and writes nothing', async (_, archive, message) => {
    const { code, output, files } = await run(archive());
    expect([code, output]).toEqual([1, expect.stringMatching(message)]);
    expect(files).toEqual([]);
  });

  it('opens key slots with the new password and the recovery key, not with the old password', async () => {
    const user = await service.user('changer');
    const vault = await TestVault.setUp(await user.workspace('My notes'), PASSWORD);
    await vault.create('plan.md', 'in slots').expect(201);
    const place = vault.newSlotPlace();
    await vault.putSlot(place.slotId, await makePasswordSlot(place, vault.masterKey, 'a new password'));
    const recoveryKey = generateRecoveryKey();
    const recovery = vault.newSlotPlace();
    await vault.putSlot(recovery.slotId, await makeRecoverySlot(recovery, vault.masterKey, recoveryKey));
    const archive = await exportOf(user);
    for (const [secret, ...options] of [
      ['a new password'],
      [(await formatRecoveryKey(recoveryKey)).toLowerCase().replaceAll('-', ' '), '--recovery-key'],
    ] as const) {
      const { code, files } = await run(archive, secret, ...options);
      expect([code, files]).toEqual([0, [expect.stringContaining('notes/plan.md')]]);
      expect(await readFile(files[0]!, 'utf8')).toBe('in slots');
    }
    expect((await run(archive, PASSWORD)).code).toBe(5);
    const { output } = await run(archive, 'not a key', '--recovery-key');
    expect(output).toContain('a recovery key has 56 characters');
  });

  it('decrypts and writes nothing in a dry run', async () => {
    const { code, output, files } = await run(tar, PASSWORD, '--dry-run');
    expect([code, files]).toEqual([0, []]);
    expect(output).toContain('My notes: 2 files in');
  });

  it('exits with 3 when another workspace has another password', async () => {
    const user = await service.user('two-passwords');
    const mine = await TestVault.setUp(await user.workspace('Mine'), PASSWORD);
    await mine.create('plan.md', 'mine').expect(201);
    const other = await TestVault.setUp(await user.workspace('Other'), 'another password');
    await other.create('plan.md', 'of another').expect(201);
    await user.workspace('Never encrypted');
    const { code, output, files } = await run(await exportOf(user));
    expect([code, files]).toEqual([3, [expect.stringContaining('notes/plan.md')]]);
    expect(output).toContain('left over: Other: has another password');
    expect(output.match(/left over: /g)).toHaveLength(1);
  });

  it('skips a file whose row is malformed, and writes the others', async () => {
    const archive = join(home, 'rows.tar');
    await writeFile(archive, tar);
    const [workspace] = await workspacesIn(archive);
    const keys = await keysOf(workspace!, await exportSecret(PASSWORD, false));
    const [first, ...others] = workspace!.versions;
    const versions = [{ ...first!, createdAt: 7 as unknown as string }, ...others];
    const out = await mkdtemp(join(home, 'rows-'));
    const { written, leftOver } = await decryptWorkspace({ ...workspace!, versions }, keys!, {
      ...{ archive, output: new ExportOutput(out), directory: 'notes', withVersions: true },
    });
    expect(leftOver).toEqual([
      { path: expect.stringMatching(/^a file/), reason: 'its row in the list has another form' },
    ]);
    expect(written).toBeGreaterThan(0);
  });

  it('writes a workspace whose name has 80 letters of three bytes', async () => {
    const user = await service.user('long-name');
    const vault = await TestVault.setUp(await user.workspace('ノ'.repeat(80)), PASSWORD);
    await vault.create('plan.md', 'long').expect(201);
    const { code, files } = await run(await exportOf(user));
    expect([code, files]).toEqual([0, [expect.stringMatching(/ノ{30,} [0-9a-f-]{36}\/notes\/plan.md$/)]]);
  });

  const packed = async (files: Readonly<Record<string, string>>): Promise<Buffer> => {
    const archive = pack();
    for (const [name, content] of Object.entries(files)) archive.entry({ name }, content);
    archive.finalize();
    return buffer(archive);
  };

  it.each<[string, string]>([
    ['null', 'null'],
    ['no JSON', '{'],
    ['without lists', '{"format":"account-export","formatVersion":1,"exportedAt":"x"}'],
    [
      'with other lists',
      '{"format":"account-export","formatVersion":1,"exportedAt":"x","workspaces":[],"checksums":[null]}',
    ],
  ])('refuses a manifest that is %s', async (_, manifest) => {
    const { code, output } = await run(await packed({ 'manifest.json': manifest }));
    expect([code, output]).toEqual([1, expect.stringMatching(/not an export of|not intact: its manifest/)]);
  });

  it('reads a row that is no object as an empty one, and refuses a malformed workspace', async () => {
    const [archive, id] = [join(home, 'packed.tar'), '5d3a61b2-6a0c-4a51-9d5c-0d1c4d8ff111'];
    const facts = { id, name: 'x', encryptionSalt: null, verificationSalt: null };
    const rows = { [`workspaces/${id}/files-1.jsonl`]: 'null\n{"id":"a"}\n{\n' };
    const of = (value: unknown) => ({ [`workspaces/${id}/workspace.json`]: JSON.stringify(value), ...rows });
    await writeFile(archive, await packed(of(facts)));
    const [read] = await workspacesIn(archive);
    expect([read?.facts, read?.files]).toStrictEqual([facts, [{}, { id: 'a' }, {}]]);
    for (const wrong of [
      null,
      { ...facts, id: '../x' },
      { ...facts, name: 7 },
      { ...facts, encryptionSalt: 'x' },
    ]) {
      await writeFile(archive, await packed(of(wrong)));
      await expect(workspacesIn(archive)).rejects.toThrow(BrokenExport);
    }
  });

  it('opens nothing with another password', async () => {
    const { code, output, files } = await run(tar, 'not the password');
    expect([code, output]).toEqual([5, expect.stringContaining('no workspace opens with this password')]);
    expect(files).toEqual([]);
  });

  it('detects a wrong password despite an empty vault, and opens an empty vault', async () => {
    const user = await service.user('empty');
    await TestVault.setUp(await user.workspace('Empty'), PASSWORD);
    expect((await run(await exportOf(user))).output).toContain('Empty: 0 files in');
    const vault = await TestVault.setUp(await user.workspace('Full'), PASSWORD);
    await vault.create('plan.md', 'full').expect(201);
    expect((await run(await exportOf(user), 'not the password')).code).toBe(5);
    expect((await run(await exportOf(user))).code).toBe(0);
  });

  it('ignores a slot that holds another key than the vault’s', async () => {
    const user = await service.user('misled');
    const vault = await TestVault.setUp(await user.workspace('My notes'));
    await vault.create('plan.md', 'in slots').expect(201);
    for (const masterKey of [Buffer.alloc(32, 7), vault.masterKey]) {
      const place = vault.newSlotPlace();
      await vault.putSlot(place.slotId, await makePasswordSlot(place, masterKey, PASSWORD));
    }
    const { code, files } = await run(await exportOf(user));
    expect([code, await readFile(files[0]!, 'utf8')]).toEqual([0, 'in slots']);
  });

  it('verifies a key by attachments when there are no notes', async () => {
    const user = await service.user('pictures');
    const vault = await TestVault.setUp(await user.workspace('Pictures'), PASSWORD);
    const token = encryptAssetName(vault.keys, 'picture.png');
    await TestAssets.of(vault.workspace)
      .create(token, Buffer.from(await encryptAsset(vault.keys, Buffer.from('pixels'))))
      .expect(201);
    expect((await run(await exportOf(user), 'not the password')).code).toBe(5);
    expect((await run(await exportOf(user))).code).toBe(0);
  });

  it('writes nothing outside its directory, whatever the names, and reports what it skipped', async () => {
    const user = await service.user('hostile');
    const vault = await TestVault.setUp(await user.workspace('../../outside'), PASSWORD);
    await vault.create('good.md', 'good').expect(201);
    const sealed = (name: string): string =>
      Buffer.from(aessiv(vault.keys.path).encrypt(Buffer.from(name))).toString('base64url');
    for (const name of [
      '../../evil.md',
      '/evil.md',
      'a/../../../evil.md',
      '.git/hooks/post-checkout',
      'good.md/x',
    ])
      await vault.workspace
        .put(sealed(name), Buffer.from(await encryptContent(vault.keys, sealed(name), Buffer.from('evil'))))
        .expect(201);
    const before = (await readdir(home)).length;
    const { code, output, files, folder } = await run(await exportOf(user));
    expect([code, (await readdir(home)).length]).toEqual([3, before + 2]); // the archive and the directory
    expect(files).toHaveLength(1);
    expect(files[0]).toMatch(/_+outside [0-9a-f-]+\/notes\/good\.md(\/x)?$/);
    expect(files[0]).toContain(join(folder, '..'));
    expect(output).toMatch(/left over: notes\/\.git\/hooks\/post-checkout: programs or the system obey/);
    expect(output.match(/left over: /g)).toHaveLength(5);
  });
});
