import { makePasswordSlot, toHex } from '../../../client/src/core/crypto/index.js';
import { Vault, WrongSecret } from '../../../client/src/core/vault/index.js';
import { PASSWORD, NEW_PASSWORD, cheap, kinds, useClientVaults } from '../../kit/client-vaults.js';

const vaults = useClientVaults();

/** Adds a password slot as another device does. */
async function putPassword(
  vault: { id: string; masterKey: Uint8Array; proof: string },
  password: string,
): Promise<void> {
  const slotId = crypto.randomUUID();
  const slot = await makePasswordSlot({ workspaceId: vault.id, slotId }, vault.masterKey, password, cheap());
  const path = `/api/v1/workspaces/${vault.id}/key-slots/${slotId}`;
  await vaults.user
    .put(path)
    .send({ ...slot, verificationHash: vault.proof })
    .expect(201);
}

describe('a change of the password', () => {
  const change = { old: PASSWORD, fresh: NEW_PASSWORD, kdf: cheap };

  it('replaces the password and leaves all other slots', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    const draft = await vault.draftRecoveryKey();
    await draft.confirm(draft.text);
    const seen: boolean[] = [];
    let checking: Promise<unknown> = Promise.resolve();
    const whenAdded = (): void => {
      checking = vaults.opens(vault.workspaceId, NEW_PASSWORD).then((does) => seen.push(does));
    };
    const changed = await Vault.changePassword(vaults.session, vault.workspaceId, { ...change, whenAdded });
    await checking;
    expect(seen).toEqual([true]);
    expect(changed).toEqual({ others: 0, isOldLeft: false });
    expect(await vaults.opens(vault.workspaceId, PASSWORD)).toBe(false);
    const again = await Vault.unlock(vaults.session, vault.workspaceId, { recoveryKey: draft.text });
    expect(toHex(again.keys.path)).toBe(toHex(vault.keys.path));
    expect(await kinds(vault)).toEqual(['recovery', 'password']);
  });

  it('can be repeated, and refuses the same password and wrong ones', async () => {
    const { workspaceId } = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    await Vault.changePassword(vaults.session, workspaceId, change);
    await Vault.changePassword(vaults.session, workspaceId, change);
    expect([
      await vaults.opens(workspaceId, PASSWORD),
      await vaults.opens(workspaceId, NEW_PASSWORD),
    ]).toEqual([false, true]);
    const same = { old: 'é', fresh: 'e\u0301' };
    await expect(Vault.changePassword(vaults.session, workspaceId, same)).rejects.toThrow(RangeError);
    const wrong = { old: 'wrong', fresh: 'other' };
    await expect(Vault.changePassword(vaults.session, workspaceId, wrong)).rejects.toThrow(WrongSecret);
  });

  it.each(['with slots', 'without slots'])(
    'leaves a vault %s that one of the passwords opens, whichever response is lost; a repeat completes it',
    async (which) => {
      for (let last = 1; ; last++) {
        const id =
          which === 'with slots'
            ? (await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap })).workspaceId
            : (await vaults.vaultOfBefore(PASSWORD)).id;
        vaults.proxy.requests.length = 0;
        const written = () => vaults.proxy.requests.filter(({ method }) => method !== 'GET').length;
        vaults.proxy.set(({ method }) =>
          method !== 'GET' && written() === last ? { kind: 'cut after sending' } : undefined,
        );
        const changing = Vault.changePassword(vaults.once(), id, { ...change, kdf: cheap });
        const isWhole = await changing.then(
          () => true,
          () => false,
        );
        vaults.proxy.heal();
        const byOld = await Vault.unlock(vaults.session, id, { password: PASSWORD }).catch(() => undefined);
        expect(byOld !== undefined || (await vaults.opens(id, NEW_PASSWORD))).toBe(true);
        await Vault.changePassword(vaults.session, id, { ...change, kdf: cheap });
        expect([await vaults.opens(id, PASSWORD), await vaults.opens(id, NEW_PASSWORD)]).toEqual([
          false,
          true,
        ]);
        if (isWhole) break;
        expect(last).toBeLessThan(10);
      }
    },
  );

  it('reports that another device has added the old password meanwhile', async () => {
    const vault = await vaults.vaultOfBefore(PASSWORD);
    let writing: Promise<void> = Promise.resolve();
    const slow = vaults.once({
      fetch: async (url, init) => {
        if (init.method === 'DELETE') await writing;
        return fetch(url, init);
      },
    });
    const whenAdded = (): void => {
      writing = putPassword(vault, PASSWORD);
    };
    const changed = await Vault.changePassword(slow, vault.id, { ...change, whenAdded });
    expect(changed).toEqual({ others: 0, isOldLeft: true });
    expect(await Vault.changePassword(vaults.session, vault.id, change)).toEqual({
      others: 0,
      isOldLeft: false,
    });
  });

  it('counts and keeps other passwords', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    await vault.addPassword('a third password', cheap);
    const changed = await Vault.changePassword(vaults.session, vault.workspaceId, change);
    expect(changed).toEqual({ others: 1, isOldLeft: false });
    expect(await vaults.opens(vault.workspaceId, 'a third password')).toBe(true);
  });

  it('from a mistyped password to the real one keeps a vault without slots intact', async () => {
    const { id } = await vaults.vaultOfBefore(PASSWORD);
    vaults.proxy.set(({ method }) => (method === 'DELETE' ? { kind: 'reset' } : undefined));
    const mistyped = { old: 'mistyped', fresh: PASSWORD };
    await Vault.changePassword(vaults.once(), id, mistyped).catch(() => undefined);
    vaults.proxy.heal();
    expect(await vaults.opens(id, PASSWORD)).toBe(true);
  });
});
