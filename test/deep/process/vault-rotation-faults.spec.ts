import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as client from '../../../client/src/core/index.js';
import { loadJson, saveJson } from '../../../examples/json-file.js';
import { deriveVaultKeys } from '../../../crypto/src/index.js';
import { type TestUser, TestWorkspace } from '../../kit/index.js';
import { NEW_PASSWORD, PASSWORD, useVaultCommand } from '../../kit/vault-command.js';
import { VaultWorld } from '../../kit/vault-world.js';

const command = useVaultCommand();

describe('vault rotate', () => {
  /** Replaces `fetch` of the client; requests are sent once. */
  type Fetch = NonNullable<client.HttpOptions['fetch']>;

  async function rotationOf(user: TestUser, oldId: string, asked: Fetch = fetch): Promise<string> {
    const options = { fetch: asked, retries: { attempts: 1 } };
    const file = join(command.home, `rotation-${oldId}.json`);
    const direct = client.Session.withAccessToken(command.service.url, user.token);
    const vault = await client.rotate({
      session: client.Session.withAccessToken(command.service.url, user.token, options),
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
    const user = await command.someone();
    const oldId = await command.newVault(user);
    const world = await VaultWorld.fill(command, user, oldId, 2);
    const write = jest.fn(() => world.write('meanwhile.md', 'written meanwhile'));
    const newId = await rotationOf(user, oldId, whenComparing(oldId, write));
    expect(write).toHaveBeenCalled();
    const fresh = await command.unlock(user, newId, NEW_PASSWORD);
    await world.expectIn(new TestWorkspace(user, newId), await deriveVaultKeys(fresh.masterKey));
  });

  it('completes although each attempt loses the response to its last request', async () => {
    const user = await command.someone();
    const oldId = await command.newVault(user);
    const world = await VaultWorld.fill(command, user, oldId, 2);
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
    const fresh = await command.unlock(user, newId, NEW_PASSWORD);
    await world.expectIn(new TestWorkspace(user, newId), await deriveVaultKeys(fresh.masterKey));
  });

  it('deletes nothing when a checkpoint marks another state', async () => {
    const user = await command.someone();
    const oldId = await command.newVault(user);
    await VaultWorld.fill(command, user, oldId, 2);
    const move = (): Promise<unknown> =>
      command.service.database.query(
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
    const user = await command.someone();
    const oldId = await command.newVault(user);
    const world = await VaultWorld.fill(command, user, oldId, 2);
    let other = '';
    const begin = async (): Promise<void> => {
      await rm(join(command.home, `rotation-${oldId}.json`));
      const cut: Fetch = (url, init) =>
        url.endsWith('/sync/status') ? Promise.reject(new TypeError('the power is gone')) : fetch(url, init);
      await expect(rotationOf(user, oldId, cut)).rejects.toThrow(client.NetworkError);
      other = JSON.parse(await readFile(join(command.home, `rotation-${oldId}.json`), 'utf8')).newId;
    };
    await expect(rotationOf(user, oldId, whenComparing(oldId, begin))).rejects.toThrow(
      'another rotation of this workspace',
    );
    await user.get(`/api/v1/workspaces/${oldId}`).expect(200);
    expect(await rotationOf(user, oldId)).toBe(other);
    const fresh = await command.unlock(user, other, NEW_PASSWORD);
    await world.expectIn(new TestWorkspace(user, other), await deriveVaultKeys(fresh.masterKey));
  });

  it('starts over when the new workspace was deleted', async () => {
    const user = await command.someone();
    const oldId = await command.newVault(user);
    const world = await VaultWorld.fill(command, user, oldId, 2);
    let deleted = '';
    const remove = async (): Promise<void> => {
      deleted = JSON.parse(await readFile(join(command.home, `rotation-${oldId}.json`), 'utf8')).newId;
      await user.delete(`/api/v1/workspaces/${deleted}`).expect(200);
    };
    await expect(rotationOf(user, oldId, whenComparing(oldId, remove))).rejects.toThrow();
    const newId = await rotationOf(user, oldId);
    expect(newId).not.toBe(deleted);
    const fresh = await command.unlock(user, newId, NEW_PASSWORD);
    await world.expectIn(new TestWorkspace(user, newId), await deriveVaultKeys(fresh.masterKey));
  });

  it('encrypts nothing under a derived key when the service hides the new slot', async () => {
    const user = await command.someone();
    const oldId = await command.newVault(user);
    await VaultWorld.fill(command, user, oldId, 2);
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
});
