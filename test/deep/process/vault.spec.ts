import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as client from '../../../client/src/core/index.js';
import { openVault, setUpAccount } from '../../../examples/demo/account.js';
import { deriveMasterKey, formatRecoveryKey, verificationHash } from '../../../crypto/src/index.js';
import { FolderDevice } from '../../kit/folder-device.js';
import type { TestUser, TestWorkspace } from '../../kit/index.js';
import { NEW_PASSWORD, PASSWORD, useVaultCommand } from '../../kit/vault-command.js';

const command = useVaultCommand();

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
    const user = await command.someone();
    const { code, out } = await command.run(user, ['create', 'my notes'], {
      env: { NEW_VAULT_PASSWORD: PASSWORD },
    });
    const id = out.trim();
    expect(code).toBe(0);
    const path = `/api/v1/automation/workspaces/${id}/key-sessions`;
    await user.post(path).send({ password: PASSWORD }).expect(201);
    expect((await command.unlock(user, id, PASSWORD)).openedBy?.kind).toBe('password');
  });

  it('change the password, even twice in a row', async () => {
    const user = await command.someone();
    const id = await command.newVault(user);
    const env = { VAULT_PASSWORD: PASSWORD, NEW_VAULT_PASSWORD: NEW_PASSWORD };
    expect((await command.run(user, ['password', id], { env })).code).toBe(0);
    expect((await command.run(user, ['password', id], { env })).code).toBe(0);
    await expect(command.unlock(user, id, PASSWORD)).rejects.toThrow(client.WrongSecret);
    expect((await command.unlock(user, id, NEW_PASSWORD)).listed).toHaveLength(1);
  });

  it('create a recovery key that counts once typed correctly, and opens despite typos', async () => {
    const user = await command.someone();
    const id = await command.newVault(user);
    const key = (out: string): string => out.trim();
    const swapped = (out: string): string =>
      key(out).replace(/^(.)(.)/, (_, a, b) => (a === b ? `${a}0` : `${b}${a}`));
    const made = await command.run(user, ['recovery', id], {
      env: { VAULT_PASSWORD: PASSWORD },
      answers: [(out) => key(out).slice(1), swapped, (out) => key(out).replaceAll('-', ' ').toLowerCase()],
    });
    expect([made.code, made.err]).toEqual([0, expect.stringMatching(/56 characters[^]*wrong[^]*counts now/)]);
    const typed = key(made.out)
      .replaceAll('-', ' \u2013 ')
      .replaceAll('0', 'o')
      .replaceAll('1', 'l')
      .toLowerCase();
    const recovered = await command.run(user, ['recover', id], {
      env: { NEW_VAULT_PASSWORD: NEW_PASSWORD },
      answers: [() => typed],
    });
    expect(recovered.code).toBe(0);
    expect((await command.unlock(user, id, NEW_PASSWORD)).masterKey).toEqual(
      (await command.unlock(user, id, PASSWORD)).masterKey,
    );
  });

  it('store no recovery key that was not confirmed', async () => {
    const user = await command.someone();
    const id = await command.newVault(user);
    const other = await formatRecoveryKey(randomBytes(32));
    const { code, err } = await command.run(user, ['recovery', id], {
      env: { VAULT_PASSWORD: PASSWORD },
      answers: [() => other, ...Array.from({ length: 4 }, () => () => 'no key')],
    });
    expect([code, err]).toEqual([1, expect.stringContaining('this is another recovery key')]);
    expect((await command.unlock(user, id, PASSWORD)).listed.map(({ kind }) => kind)).toEqual(['password']);
  });

  it('remove a slot, but never the one that was used', async () => {
    const user = await command.someone();
    const id = await command.newVault(user);
    const { openedBy } = await command.unlock(user, id, PASSWORD);
    const env = { VAULT_PASSWORD: PASSWORD };
    const refused = await command.run(user, ['remove', id, openedBy!.id], { env });
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('by another key slot')]);
    const made = await command.run(user, ['recovery', id], { env, answers: [(out) => out.trim()] });
    const removed = await command.run(user, ['remove', id, openedBy!.id], {
      env: { RECOVERY_KEY: made.out.trim() },
    });
    expect([removed.code, removed.err]).toEqual([0, expect.stringContaining('deleted')]);
    await expect(command.unlock(user, id, PASSWORD)).rejects.toThrow(client.WrongSecret);
  });

  it('report a wrong password in one sentence', async () => {
    const user = await command.someone();
    const id = await command.newVault(user);
    const env = { VAULT_PASSWORD: 'a guess', NEW_VAULT_PASSWORD: NEW_PASSWORD };
    const { code, err } = await command.run(user, ['password', id], { env });
    expect([code, err.trim()]).toEqual([1, 'the vault password is wrong']);
    expect((await command.run(user, ['password'])).err).toMatch(/^usage:/);
  });
});

describe('a vault from before key slots', () => {
  it('gets one slot when a client opens it, and old clients still derive its key', async () => {
    const user = await command.someone();
    const { workspace, masterKey, salt } = await oldVault(user);
    const env = { VAULT_PASSWORD: PASSWORD };
    for (let attempt = 0; attempt < 2; attempt++)
      expect(
        (await command.run(user, ['recovery', workspace.id], { env, answers: [(out) => out.trim()] })).code,
      ).toBe(0);
    const { listed, masterKey: opened } = await command.unlock(user, workspace.id, PASSWORD);
    expect(listed.filter(({ kind }) => kind === 'password')).toHaveLength(1);
    expect(opened).toEqual(masterKey);
    await client.Vault.changePassword(command.session(user), workspace.id, {
      old: PASSWORD,
      fresh: NEW_PASSWORD,
    });
    expect((await command.unlock(user, workspace.id, NEW_PASSWORD)).masterKey).toEqual(
      await deriveMasterKey(PASSWORD, salt),
    );
  });
});

describe('a device', () => {
  async function device(
    name: string,
    account: Awaited<ReturnType<typeof setUpAccount>>,
  ): Promise<FolderDevice> {
    return new FolderDevice(name, command.home, await openVault(command.service.url, account));
  }

  it('syncs during a password change, and keeps its files when the workspace is deleted', async () => {
    const file = join(command.home, 'account.json');
    const account = await setUpAccount(command.service.url, file, 'notes');
    const [laptop, phone] = [await device('laptop', account), await device('phone', account)];
    await writeFile(join(laptop.root, 'a.md'), 'before');
    await laptop.sync();
    const workspaceId = account.workspaceId!;
    const signedIn = await client.Session.signIn(command.service.url, account);
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
    await expect(openVault(command.service.url, account)).rejects.toThrow(client.WrongSecret);
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
    await mkdir(join(command.home, 'crashed'));
    const file = join(command.home, 'crashed', 'account.json');
    const account = await setUpAccount(command.service.url, file, 'notes');
    const { workspaceId, hasKeySlots, ...before } = account;
    expect([workspaceId, hasKeySlots]).toEqual([expect.any(String), true]);
    await writeFile(file, JSON.stringify(before)); // as it was until the first slot was stored
    const again = await setUpAccount(command.service.url, file, 'notes');
    expect(again.workspaceId).not.toBe(workspaceId);
    expect((await openVault(command.service.url, again)).workspaceId).toBe(again.workspaceId);
  });

  it('does not derive a key when the service hides the slots', async () => {
    await mkdir(join(command.home, 'hidden'));
    const account = await setUpAccount(
      command.service.url,
      join(command.home, 'hidden', 'account.json'),
      'notes',
    );
    const masterKey = await deriveMasterKey(account.vaultPassword, '00'.repeat(32));
    await command.service.database.query('DELETE FROM key_slots WHERE workspace_id = $1', [
      account.workspaceId,
    ]);
    await command.service.database.query(
      'UPDATE workspaces SET encryption_salt = $2, verification_salt = $2, verification_hash = $3 WHERE id = $1',
      [account.workspaceId, '00'.repeat(32), await verificationHash(masterKey, '00'.repeat(32))],
    );
    const send = jest.spyOn(globalThis, 'fetch');
    await expect(openVault(command.service.url, account)).rejects.toThrow('no longer returns the key slots');
    const sent = send.mock.calls.map(([url]) => url as string);
    send.mockRestore();
    expect(sent.at(-1)).toMatch(/key-slots$/); // no proof from which the password could be guessed
  });
});
