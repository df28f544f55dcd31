import * as client from '../../../client/src/core/index.js';
import {
  decryptContent,
  deriveVaultKeys,
  encryptAssetName,
  encryptContent,
  encryptPath,
} from '../../../crypto/src/index.js';
import { TestAssets } from '../../kit/assets.js';
import { TestWorkspace } from '../../kit/index.js';
import { NEW_PASSWORD, PASSWORD, useVaultCommand } from '../../kit/vault-command.js';
import { VaultWorld } from '../../kit/vault-world.js';

/** For a realistic number: ROTATION_NOTES=500 npx jest vault-rotation.spec */
const NOTES = Number(process.env['ROTATION_NOTES'] ?? 24);
const KILLS = 6;
const LONGEST_MS = 60 * 60_000; // for any ROTATION_NOTES

const command = useVaultCommand();

describe('vault rotate', () => {
  it(
    `moves ${NOTES} notes with their history, checkpoints and assets, through ${KILLS} kills`,
    async () => {
      const user = await command.someone();
      const oldId = await command.newVault(user);
      const world = await VaultWorld.fill(command, user, oldId, NOTES);
      const env = { VAULT_PASSWORD: PASSWORD, NEW_VAULT_PASSWORD: NEW_PASSWORD };
      for (let kill = 1; kill <= KILLS; kill++) {
        const child = command.start(user, ['rotate', oldId], env);
        const ended = new Promise<NodeJS.Signals | null>((resolve) =>
          child.once('close', (_, signal) => resolve(signal)),
        );
        await (kill < KILLS ? world.hasChanges(kill / (KILLS - 1), child) : world.hasAssets(child));
        child.kill('SIGKILL');
        expect(await ended).toBe('SIGKILL');
      }
      const { code, out, err } = await command.run(user, ['rotate', oldId], { env });
      expect([code, err]).toEqual([0, expect.stringContaining('The old one is deleted')]);
      const newId = out.trim();
      await user.get(`/api/v1/workspaces/${oldId}`).expect(404);
      const fresh = await command.unlock(user, newId, NEW_PASSWORD);
      await world.expectIn(new TestWorkspace(user, newId), await deriveVaultKeys(fresh.masterKey));
      await expect(command.unlock(user, newId, PASSWORD)).rejects.toThrow(client.WrongSecret);
    },
    LONGEST_MS,
  );

  it('deletes nothing when a version in the new workspace is not the one that was copied', async () => {
    const user = await command.someone();
    const oldId = await command.newVault(user);
    const world = await VaultWorld.fill(command, user, oldId, 4);
    const env = { VAULT_PASSWORD: PASSWORD, NEW_VAULT_PASSWORD: NEW_PASSWORD };
    const child = command.start(user, ['rotate', oldId], env);
    const ended = new Promise((resolve) => child.once('close', resolve));
    await world.hasChanges(1, child);
    child.kill('SIGKILL');
    await ended;
    const { length } = await command.service.database.query(
      `UPDATE versions v SET blob_id = o.blob_id, content_hash = o.content_hash, encrypted_size = o.encrypted_size
       FROM versions o JOIN files f ON f.workspace_id = o.workspace_id AND f.id = o.file_id
       JOIN workspaces w ON w.id = o.workspace_id
       WHERE w.user_id = $1 AND w.id <> $2 AND v.workspace_id = o.workspace_id AND v.file_id = o.file_id
         AND o.version = f.version AND v.version = 1 AND f.version > 1 RETURNING v.id`,
      [user.id, oldId],
    );
    expect(length).toBeGreaterThan(0);
    const { code, err } = await command.run(user, ['rotate', oldId], { env });
    expect([code, err]).toEqual([1, expect.stringContaining('differs in the new workspace')]);
    await user.get(`/api/v1/workspaces/${oldId}`).expect(200);
  });

  it('stops at content that it cannot read, and continues with later changes', async () => {
    const user = await command.someone();
    const oldId = await command.newVault(user);
    const keys = await deriveVaultKeys((await command.unlock(user, oldId, PASSWORD)).masterKey);
    const workspace = new TestWorkspace(user, oldId);
    const token = encryptAssetName(keys, 'damaged.png');
    await TestAssets.of(workspace).create(token, Buffer.alloc(100, 1)).expect(201);
    const env = { VAULT_PASSWORD: PASSWORD, NEW_VAULT_PASSWORD: NEW_PASSWORD };
    expect((await command.run(user, ['rotate', oldId], { env })).code).toBe(1);
    await user.get(`/api/v1/workspaces/${oldId}`).expect(200);
    await user.delete(`/api/assets/${token}`).set('X-Workspace-Id', oldId).expect(200);
    const path = encryptPath(keys, 'late.md');
    const sealed = Buffer.from(await encryptContent(keys, path, Buffer.from('late')));
    await workspace.put(path, sealed).expect(201);
    const { out } = await command.run(user, ['rotate', oldId], { env });
    const fresh = await deriveVaultKeys((await command.unlock(user, out.trim(), NEW_PASSWORD)).masterKey);
    const late = encryptPath(fresh, 'late.md');
    const { body } = await new TestWorkspace(user, out.trim()).get(late).expect(200);
    expect(Buffer.from(await decryptContent(fresh, late, body as Buffer)).toString()).toBe('late');
  });
});
