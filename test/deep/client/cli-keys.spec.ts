import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Machine } from '../../kit/command-line.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';

/** Vault passwords and recovery keys on the command line, against the real service. */
const [PASSWORD, NEW_PASSWORD] = ['the vault password', 'another vault password'];

let service: TestService;
let user: TestUser;
let home: string;
let one: Machine;
let workspace: string;
beforeAll(async () => {
  service = await startService({ isAtBaseUrl: true });
});
afterAll(() => service.close());

let users = 0;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'cli-keys-'));
  user = await service.user(`keys${++users}`);
  one = new Machine(join(home, 'one'), { SYNC_URL: service.url, ACCESS_TOKEN: user.token });
  const made = await one.json(['init', one.folder, '--new', 'Notes'], { VAULT_PASSWORD: PASSWORD });
  expect(made.code).toBe(0);
  workspace = String(made['workspace']);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const both = { VAULT_PASSWORD: PASSWORD, NEW_VAULT_PASSWORD: NEW_PASSWORD };

/** The exit code of a new device that opens the vault. */
async function opens(env: Record<string, string>, ...options: string[]): Promise<number | null> {
  const device = new Machine(mkdtempSync(join(home, 'device-')), {
    ...{ SYNC_URL: service.url, ACCESS_TOKEN: user.token },
  });
  const args = ['init', device.folder, '--workspace', workspace, '--ask', ...options];
  return (await device.run(args, env)).code;
}

describe('password', () => {
  it('replaces the password, even twice in a row; the device keeps its key', async () => {
    expect(await one.run(['password', one.folder, '--dry-run'], both)).toMatchObject({ code: 0 });
    expect(await opens({ VAULT_PASSWORD: PASSWORD })).toBe(0);
    for (let attempt = 0; attempt < 2; attempt++) {
      const changed = await one.json(['password', one.folder], both);
      expect(changed).toMatchObject({ code: 0, others: 0, isOldLeft: false });
    }
    expect(await opens({ VAULT_PASSWORD: PASSWORD })).toBe(5);
    expect(await opens({ VAULT_PASSWORD: NEW_PASSWORD })).toBe(0);
    one.write('a.md', 'a');
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });
  });

  it('changes nothing for a wrong old, an empty new or an unchanged password', async () => {
    for (const [env, code, message] of [
      [{ ...both, VAULT_PASSWORD: 'a guess' }, 5, /vault password is wrong/],
      [{ ...both, NEW_VAULT_PASSWORD: '' }, 2, /must not be empty/],
      [{ ...both, NEW_VAULT_PASSWORD: PASSWORD }, 2, /the same as the old one/],
    ] as const) {
      const ended = await one.run(['password', one.folder], env);
      expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(message)]);
    }
    expect(await opens({ VAULT_PASSWORD: PASSWORD })).toBe(0);
  });
});

describe('recovery', () => {
  it('creates a key that sets a new password when the old one is forgotten', async () => {
    const { code, recoveryKey } = await one.json(['recovery', one.folder]);
    expect([code, recoveryKey]).toEqual([0, expect.stringMatching(/^[0-9A-Z-]{60,}$/)]);
    const env = { RECOVERY_KEY: String(recoveryKey).toLowerCase(), NEW_VAULT_PASSWORD: NEW_PASSWORD };
    expect(await opens({ RECOVERY_KEY: String(recoveryKey) }, '--recovery-key')).toBe(0);
    expect(await one.run(['password', one.folder, '--recovery-key'], env)).toMatchObject({ code: 0 });
    expect(await opens({ VAULT_PASSWORD: NEW_PASSWORD })).toBe(0);
  });

  it('creates no key that was not typed again', async () => {
    const { code, stdout, stderr } = await one.run(['recovery', one.folder], {}, 'no key\n');
    expect([code, stderr]).toEqual([5, expect.stringMatching(/56 characters/)]);
    expect(await opens({ RECOVERY_KEY: stdout.trim() }, '--recovery-key')).toBe(5);
    const kept = await one.run(['recovery', one.folder], {}, '');
    expect(kept.code).toBe(5);
  });
});

describe('rotate', () => {
  it('moves folder and history to a new workspace, even when its end was interrupted', async () => {
    for (const content of ['first', 'second']) {
      one.write('plan.md', content);
      expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });
    }
    await one.run(['checkpoint', 'mark', '--folder', one.folder]);
    const unsaid = await one.run(['rotate', one.folder], both);
    expect([unsaid.code, unsaid.stderr]).toEqual([4, expect.stringMatching(/other devices/)]);
    one.write('late.md', 'not synced yet');
    symlinkSync('plan.md', join(one.folder, 'link.md')); // never synced, and no obstacle
    const oldId = workspace;
    const key = readFileSync(join(one.state, 'master-key'), 'utf8');
    const config = readFileSync(join(one.state, 'config.json'), 'utf8');
    const done = await one.json(['rotate', one.folder, '--yes'], both);
    expect(done).toMatchObject({ code: 0, workspace: expect.not.stringMatching(workspace) });
    await user.get(`/api/v1/workspaces/${workspace}`).expect(404);
    expect(readFileSync(join(one.state, 'master-key'), 'utf8')).not.toBe(key);
    expect(statSync(join(one.state, 'master-key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(one.state, 'config.json'), 'utf8')).not.toBe(config);
    workspace = String(done['workspace']);
    unlinkSync(join(one.folder, 'link.md'));
    expect(await one.json(['sync', one.folder])).toMatchObject({
      code: 0,
      files: 2,
      uploaded: [],
      conflicts: [],
    });
    // As a kill leaves it after the new settings: the next rotation starts over and asks again.
    const file = join(one.state, 'rotation.json');
    const over = { oldId, newId: workspace, plan: { cursor: 0, steps: [] }, isVerified: true };
    writeFileSync(file, JSON.stringify(over));
    expect(await one.run(['rotate', one.folder], both)).toMatchObject({ code: 4 });
    expect(existsSync(file)).toBe(false);
    // As a kill leaves it between the deletion of the old workspace and the new settings.
    for (const [name, text] of [
      ['rotation.json', JSON.stringify(over)],
      ['master-key', key],
      ['config.json', config],
    ] as const)
      writeFileSync(join(one.state, name), text);
    expect(await one.json(['rotate', one.folder], both)).toMatchObject({ code: 0, workspace });
    // The same without a kept key: the old password is not asked for.
    writeFileSync(file, JSON.stringify(over));
    writeFileSync(join(one.state, 'config.json'), config.replace('"keepsKey": true', '"keepsKey": false'));
    unlinkSync(join(one.state, 'master-key'));
    const asked = await one.json(['rotate', one.folder], { NEW_VAULT_PASSWORD: NEW_PASSWORD });
    expect(asked).toMatchObject({ code: 0, workspace });
    expect(await one.run(['sync', one.folder], { VAULT_PASSWORD: NEW_PASSWORD })).toMatchObject({ code: 0 });
    const opened = { VAULT_PASSWORD: NEW_PASSWORD };
    const { versions } = await one.json(['log', join(one.folder, 'plan.md')], opened);
    expect(versions).toHaveLength(2);
    const { checkpoints } = await one.json(['checkpoints', one.folder], opened);
    expect(checkpoints).toMatchObject([{ label: 'mark' }]);
    expect(await opens({ VAULT_PASSWORD: PASSWORD })).toBe(5);
    expect(await opens({ VAULT_PASSWORD: NEW_PASSWORD })).toBe(0);
  });
});
