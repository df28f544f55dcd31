import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  formatRecoveryKey,
  generateRecoveryKey,
  makePasswordSlot,
  makeRecoverySlot,
} from '../../src/automation/key-slot-crypto.js';
import { encryptAsset, encryptAssetName } from '../../src/automation/vault-crypto.js';
import { TestAssets } from '../kit/assets.js';
import { TestVault } from '../kit/automation.js';
import { exportOf } from '../kit/exports.js';
import { startService, type TestService } from '../kit/index.js';

const COMMAND = join(import.meta.dirname, '..', '..', 'dist', 'examples', 'decrypt-export', 'main.js');
const PASSWORD = 'the password of the vault';
const CUT_BYTES = 2_048;

describe('the command that decrypts an export', () => {
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
      .create(token, encryptAsset(vault.keys, Buffer.from('pixels')))
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
    const child = spawn(process.execPath, [COMMAND, ...options, `${name}.tar`, name], { stdio: 'pipe' });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (output += String(chunk)));
    child.stdin.on('error', () => undefined); // it may end before it asks
    child.stdin.end(`${password}\n`);
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
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

  it('writes old versions and deleted files too, when asked', async () => {
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

  it('opens by key slots, with the new password and with the recovery key, not with the old password', async () => {
    const user = await service.user('changer');
    const vault = await TestVault.setUp(await user.workspace('My notes'), PASSWORD);
    await vault.create('plan.md', 'in slots').expect(201);
    const place = vault.newSlotPlace();
    await vault.putSlot(place.slotId, await makePasswordSlot(place, vault.masterKey, 'a new password'));
    const recoveryKey = generateRecoveryKey();
    const recovery = vault.newSlotPlace();
    await vault.putSlot(recovery.slotId, makeRecoverySlot(recovery, vault.masterKey, recoveryKey));
    const archive = await exportOf(user);
    for (const [secret, ...options] of [
      ['a new password'],
      [formatRecoveryKey(recoveryKey).toLowerCase().replaceAll('-', ' '), '--recovery-key'],
    ] as const) {
      const { code, files } = await run(archive, secret, ...options);
      expect([code, files]).toEqual([0, [expect.stringContaining('notes/plan.md')]]);
      expect(await readFile(files[0]!, 'utf8')).toBe('in slots');
    }
    expect((await run(archive, PASSWORD)).code).toBe(1);
    const { output } = await run(archive, 'not a key', '--recovery-key');
    expect(output).toContain('a recovery key has 56 characters');
  });

  it('opens nothing with another password', async () => {
    const { code, output, files } = await run(tar, 'not the password');
    expect([code, output]).toEqual([1, expect.stringContaining('no workspace opens with this password')]);
    expect(files).toEqual([]);
  });
});
