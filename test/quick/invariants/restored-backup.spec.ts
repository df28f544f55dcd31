import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deriveVaultKeys, Session, type VaultKeys } from '../../../client/src/core/index.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { around, FolderDevice } from '../../kit/folder-device.js';
import { putBack } from '../../kit/put-back.js';

/** A folder syncs after its server was restored from a backup whose head is the cursor of the folder. */
describe('changes that were acknowledged and are missing in a restored backup', () => {
  let service: TestService;
  let home: string;
  let workspace: TestWorkspace;
  let keys: VaultKeys;
  let users = 0;
  beforeAll(async () => {
    service = await startService({ isAtBaseUrl: true, env: { LOG_LEVEL: 'silent' } });
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'restored-backup-'));
    workspace = await (await service.user(`restored-backup-${++users}`)).workspace();
    keys = await deriveVaultKeys(randomBytes(32));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  /** A device that starts with its saved state. @param pulls number of pulls before the power fails */
  function device(name: string, pulls = Infinity): FolderDevice {
    let left = pulls;
    const before = (call: string): void => {
      if (call === 'pull' && --left < 0) throw new Error('the power is gone');
    };
    return new FolderDevice(name, home, {
      session: Session.withAccessToken(service.url, workspace.user.token),
      ...{ workspaceId: workspace.id, keys },
      remote: (remote) => around(remote, { before }),
    });
  }

  const write = (name: string, path: string, text: string): Promise<void> =>
    writeFile(join(home, name, path), text);

  /** Syncs laptop and phone, then work of the laptop alone, and puts the server back to before that work. */
  async function lose(work: () => Promise<void>): Promise<void> {
    const [laptop, phone] = [device('laptop'), device('phone')];
    await write('laptop', 'edited.md', 'as in the backup');
    await write('laptop', 'other.md', 'another file');
    for (const each of [laptop, phone, laptop]) await each.sync();
    const { cursor } = await workspace.status();
    await work();
    await expect(device('laptop', 1).sync()).rejects.toThrow('the power is gone');
    expect((await workspace.status()).cursor).toBeGreaterThan(cursor);
    await putBack(service, workspace.id, cursor);
  }

  async function loseUploads(): Promise<void> {
    await lose(async () => {
      await write('laptop', 'new.md', 'written after the backup');
      await write('laptop', 'edited.md', 'edited after the backup');
    });
  }

  it('are sent again; an edit is kept beside the version of the backup', async () => {
    await loseUploads();
    const [laptop, phone] = [device('laptop'), device('phone')];
    for (const each of [laptop, phone, laptop]) expect((await each.sync()).stopped).toBeUndefined();
    const onLaptop = await laptop.files();
    expect(await phone.files()).toEqual(onLaptop);
    expect(onLaptop.get('new.md')).toBe('written after the backup');
    expect([...onLaptop.values()].sort()).toEqual([
      'another file',
      'as in the backup',
      'edited after the backup',
      'written after the backup',
    ]);
  });

  it('are kept beside the file that another device has written to the same path since', async () => {
    await loseUploads();
    const [laptop, phone] = [device('laptop'), device('phone')];
    await write('phone', 'new.md', 'of the phone');
    for (const each of [phone, laptop, phone]) await each.sync();
    const onLaptop = await laptop.files();
    expect(await phone.files()).toEqual(onLaptop);
    expect([...onLaptop.values()]).toEqual(
      expect.arrayContaining(['of the phone', 'written after the backup', 'edited after the backup']),
    );
  });

  it('that are deletions are undone: the file comes back on the device that deleted it', async () => {
    await lose(() => rm(join(home, 'laptop', 'edited.md')));
    const [laptop, phone] = [device('laptop'), device('phone')];
    for (const each of [laptop, phone, laptop]) expect((await each.sync()).stopped).toBeUndefined();
    const expected = new Map([
      ['edited.md', 'as in the backup'],
      ['other.md', 'another file'],
    ]);
    expect(await laptop.files()).toEqual(expected);
    expect(await phone.files()).toEqual(expected);
  });
});
