import { Session } from '../../../client/src/core/api/index.js';
import {
  deriveMasterKey,
  deriveSubkeys,
  encryptPath,
  KdfRefused,
  newPasswordKdf,
  RecoveryKeyTypo,
  toHex,
} from '../../../client/src/core/crypto/index.js';
import { InvalidAnswer } from '../../../client/src/core/http/index.js';
import { SlotsHidden, Vault, WrongSecret } from '../../../client/src/core/vault/index.js';
import { PASSWORD, NEW_PASSWORD, cheap, kinds, useClientVaults } from '../../kit/client-vaults.js';

const vaults = useClientVaults();

interface ListedSlots {
  slots: Record<string, unknown>[];
}

/** A session at a service that alters its list of key slots. */
function lying(alter: (list: ListedSlots) => unknown): Session {
  return vaults.once({
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      if (!url.endsWith('/key-slots')) return answer;
      return Response.json(alter((await answer.json()) as ListedSlots));
    },
  });
}

describe('a new vault', () => {
  it('opens with its password, on another device too, and with no other', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    expect(vault.hasSlots).toBe(true);
    const again = await Vault.unlock(vaults.session, vault.workspaceId.toUpperCase(), { password: PASSWORD });
    expect(encryptPath(again.keys, 'a.md')).toBe(encryptPath(vault.keys, 'a.md'));
    expect(again.hasSlots).toBe(true);
    await expect(Vault.unlock(vaults.session, vault.workspaceId, { password: 'wrong' })).rejects.toThrow(
      WrongSecret,
    );
    await expect(Vault.unlock(vaults.session, vault.workspaceId, { password: '' })).rejects.toThrow(
      WrongSecret,
    );
  });

  it('can use either derivation', async () => {
    for (const kdf of ['argon2id', 'pbkdf2-sha256'] as const) {
      const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: () => newPasswordKdf(kdf) });
      expect((await vault.slots())[0]?.kdf).toMatchObject({ name: kdf });
      expect(await vaults.opens(vault.workspaceId, PASSWORD)).toBe(true);
    }
  });

  it('has a master key that the service cannot compute from the password', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    const path = `/api/v1/workspaces/${vault.workspaceId}/key-slots`;
    const { encryptionSalt } = (await vaults.user.get(path).expect(200)).body as { encryptionSalt: string };
    const derived = await deriveSubkeys(await deriveMasterKey(PASSWORD, encryptionSalt));
    expect(toHex(derived.path)).not.toBe(toHex(vault.keys.path));
  });

  it('is returned only when its password opens it, whichever response is lost', async () => {
    for (let last = 1; ; last++) {
      vaults.proxy.requests.length = 0;
      vaults.proxy.set(() =>
        vaults.proxy.requests.length === last ? { kind: 'cut after sending' } : undefined,
      );
      const vault = await Vault.create(vaults.once(), 'notes', PASSWORD, { kdf: cheap }).catch(
        () => undefined,
      );
      if (!vault) continue;
      expect(await vaults.opens(vault.workspaceId, PASSWORD)).toBe(true);
      expect(last).toBe(4);
      break;
    }
  });

  it('refuses an empty password before anything is created', async () => {
    const before = (await vaults.user.get('/api/v1/workspaces')).body as { workspaces: unknown[] };
    await expect(Vault.create(vaults.session, 'notes', '')).rejects.toThrow(RangeError);
    const after = (await vaults.user.get('/api/v1/workspaces')).body as { workspaces: unknown[] };
    expect(after.workspaces).toHaveLength(before.workspaces.length);
  });
});

describe('a vault from before key slots', () => {
  it('gets a slot for the password that opens it', async () => {
    const { id, masterKey } = await vaults.vaultOfBefore(PASSWORD);
    await expect(Vault.unlock(vaults.session, id, { password: 'wrong' })).rejects.toThrow(WrongSecret);
    const vault = await Vault.unlock(vaults.session, id, { password: PASSWORD });
    expect(toHex(vault.keys.path)).toBe(toHex((await deriveSubkeys(masterKey)).path));
    expect(vault.hasSlots).toBe(true);
    expect(await kinds(vault)).toEqual(['password']);
    await Vault.unlock(vaults.session, id, { password: PASSWORD });
    expect(await kinds(vault)).toEqual(['password']);
  });

  it('opens with a token that may not write slots, and gets one the next time', async () => {
    const { id } = await vaults.vaultOfBefore(PASSWORD);
    vaults.proxy.set(({ method }) => (method === 'PUT' ? { kind: 'answer', status: 403 } : undefined));
    expect((await Vault.unlock(vaults.once(), id, { password: PASSWORD })).hasSlots).toBe(false);
    vaults.proxy.heal();
    expect((await Vault.unlock(vaults.once(), id, { password: PASSWORD })).hasSlots).toBe(true);
  });
});

describe('recovery keys, passkeys and slots', () => {
  it('a recovery key counts when it has been typed, and opens in any notation', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    const [draft, other] = [await vault.draftRecoveryKey(), await vault.draftRecoveryKey()];
    await expect(
      draft.confirm(`${draft.text.startsWith('X') ? 'Y' : 'X'}${draft.text.slice(1)}`),
    ).rejects.toThrow(RecoveryKeyTypo);
    await expect(draft.confirm(other.text)).rejects.toThrow(WrongSecret);
    const byDraft = Vault.unlock(vaults.session, vault.workspaceId, { recoveryKey: draft.text });
    await expect(byDraft).rejects.toThrow(WrongSecret);
    await draft.confirm(draft.text);
    const typed = draft.text.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l').replaceAll('-', ' ');
    const recovered = await Vault.unlock(vaults.session, vault.workspaceId, { recoveryKey: typed });
    await recovered.addPassword(NEW_PASSWORD, cheap);
    expect(await vaults.opens(vault.workspaceId, NEW_PASSWORD)).toBe(true);
    const typo = Vault.unlock(vaults.session, vault.workspaceId, { recoveryKey: typed.slice(1) });
    await expect(typo).rejects.toThrow(RecoveryKeyTypo);
  });

  it('a passkey opens the vault with its PRF output', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    const passkey = { credentialId: 'AAECAw', prfSalt: 'ab'.repeat(32) };
    const prfOutput = new Uint8Array(32).fill(7);
    const slotId = await vault.addPasskey(passkey, prfOutput, 'a label');
    expect(await Vault.passkeys(vaults.session, vault.workspaceId)).toEqual([{ slotId, ...passkey }]);
    const opened = await Vault.unlock(vaults.session, vault.workspaceId, { slotId, prfOutput });
    expect(toHex(opened.keys.path)).toBe(toHex(vault.keys.path));
    const wrong = { slotId, prfOutput: new Uint8Array(32) };
    await expect(Vault.unlock(vaults.session, vault.workspaceId, wrong)).rejects.toThrow(WrongSecret);
    expect((await vault.slots())[1]?.label).toBe('a label');
  });

  it('a slot can be removed, except the one that opened the vault', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    const [own] = await vault.slots();
    await expect(vault.removeSlot(own?.id ?? '')).rejects.toThrow(/by another key slot/);
    await expect(vault.removeSlot(crypto.randomUUID())).rejects.toThrow(/no such key slot/);
    const draft = await vault.draftRecoveryKey();
    await draft.confirm(draft.text);
    const recovered = await Vault.unlock(vaults.session, vault.workspaceId, { recoveryKey: draft.text });
    await recovered.removeSlot(own?.id.toUpperCase() ?? '');
    expect(await kinds(vault)).toEqual(['recovery']);
    const [last] = await vault.slots();
    await expect(vault.removeSlot(last?.id ?? '')).rejects.toMatchObject({ status: 409 });
  });
});

describe('a hostile service', () => {
  it('receives nothing derived from the password by hiding the slots', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    const hiding = lying((list) => ({ ...list, slots: [] }));
    const unlocking = Vault.unlock(hiding, vault.workspaceId, { password: PASSWORD }, { hasSlots: true });
    await expect(unlocking).rejects.toThrow(SlotsHidden);
    const change = { old: PASSWORD, fresh: NEW_PASSWORD, hasSlots: true };
    await expect(Vault.changePassword(hiding, vault.workspaceId, change)).rejects.toThrow(SlotsHidden);
    expect(vaults.proxy.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  it('can neither enforce weak parameters nor hide a good slot behind them', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    const weak = { ...newPasswordKdf('pbkdf2-sha256'), iterations: 1 };
    const alone = lying(({ slots, ...list }) => ({
      ...list,
      slots: slots.map((slot) => ({ ...slot, kdf: weak })),
    }));
    await expect(Vault.unlock(alone, vault.workspaceId, { password: PASSWORD })).rejects.toThrow(KdfRefused);
    const before = lying(({ slots, ...list }) => ({
      ...list,
      slots: [{ ...slots[0], id: crypto.randomUUID(), kdf: weak }, ...slots],
    }));
    await Vault.unlock(before, vault.workspaceId, { password: PASSWORD });
  });

  it.each<[string, (slot: Record<string, unknown>) => Record<string, unknown>[]]>([
    ['five passwords', (slot) => Array(5).fill(slot) as Record<string, unknown>[]],
    ['17 slots', (slot) => Array(17).fill({ ...slot, kind: 'recovery' }) as Record<string, unknown>[]],
    ['an id that is a path', (slot) => [{ ...slot, id: '../../files/YQ' }]],
    ['a time that ends the header', (slot) => [{ ...slot, updatedAt: 'x"\r\nx: y' }]],
    ['no id', (slot) => [{ ...slot, id: 7 }]],
  ])('is refused when it lists %s', async (_, alter) => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    const liar = lying(({ slots, ...list }) => ({ ...list, slots: alter(slots[0] ?? {}) }));
    const unlocking = Vault.unlock(liar, vault.workspaceId, { password: PASSWORD });
    await expect(unlocking).rejects.toThrow(InvalidAnswer);
  });

  it('cannot pass off a malformed wrapped key, or one of another slot', async () => {
    const vault = await Vault.create(vaults.session, 'notes', PASSWORD, { kdf: cheap });
    for (const change of [
      { wrappedKey: 7 },
      { wrappedKey: null },
      { id: crypto.randomUUID() },
      { kind: 'new kind' },
    ]) {
      const liar = lying(({ slots, ...list }) => ({
        ...list,
        slots: slots.map((slot) => ({ ...slot, ...change })),
      }));
      const unlocking = Vault.unlock(liar, vault.workspaceId, { password: PASSWORD }, { hasSlots: true });
      await expect(unlocking).rejects.toThrow(change.kind ? SlotsHidden : WrongSecret);
    }
  });

  it('is not suspected when there is no vault yet', async () => {
    const { id } = await vaults.user.workspace();
    await expect(Vault.unlock(vaults.session, id, { password: PASSWORD })).rejects.toThrow(
      /has not been set up/,
    );
  });
});
