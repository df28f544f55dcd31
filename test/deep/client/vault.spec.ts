import { Session } from '../../../client/src/core/api/index.js';
import {
  deriveMasterKey,
  deriveSubkeys,
  encryptPath,
  KdfRefused,
  makePasswordSlot,
  newPasswordKdf,
  type PasswordKdf,
  RecoveryKeyTypo,
  toHex,
  verificationHash,
} from '../../../crypto/src/index.js';
import { type HttpOptions, InvalidAnswer } from '../../../client/src/core/http/index.js';
import { SlotsHidden, Vault, WrongSecret } from '../../../client/src/core/vault/index.js';
import { FaultProxy } from '../../kit/fault-proxy.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';

const [PASSWORD, NEW_PASSWORD] = ['the password of the vault', 'another password of the vault'];

/** The cheapest parameters that every reader accepts. */
const cheap = (): PasswordKdf => ({
  ...{ name: 'argon2id', salt: newPasswordKdf().salt },
  ...{ memoryKiB: 19_456, passes: 2, lanes: 1 },
});

let service: TestService;
let proxy: FaultProxy;
let user: TestUser;
let session: Session;
beforeAll(async () => {
  service = await startService();
  proxy = await FaultProxy.before(service.url);
  user = await service.user('ada');
  session = Session.withAccessToken(service.url, user.token);
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});
beforeEach(() => {
  proxy.heal();
  proxy.requests.length = 0;
});

/** A session whose requests are sent once. */
const once = (options: HttpOptions = {}): Session =>
  Session.withAccessToken(proxy.url, user.token, { retries: { attempts: 1 }, ...options });

interface ListedSlots {
  slots: Record<string, unknown>[];
}

/** A session at a service that alters its list of key slots. */
function lying(alter: (list: ListedSlots) => unknown): Session {
  return once({
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      if (!url.endsWith('/key-slots')) return answer;
      return Response.json(alter((await answer.json()) as ListedSlots));
    },
  });
}

const opens = (id: string, password: string): Promise<boolean> =>
  Vault.unlock(session, id, { password }, { hasSlots: true }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof WrongSecret) return false;
      throw error;
    },
  );

const kinds = async (vault: Vault): Promise<string[]> => (await vault.slots()).map(({ kind }) => kind);

/** A vault as before key slots. @returns the id of its workspace, its key and the proof of it */
async function vaultOfBefore(
  password: string,
): Promise<{ id: string; masterKey: Uint8Array; proof: string }> {
  const { id, path } = await user.workspace();
  const [encryptionSalt, verificationSalt] = ['ab'.repeat(32), 'cd'.repeat(32)];
  const masterKey = await deriveMasterKey(password, encryptionSalt);
  const proof = await verificationHash(masterKey, verificationSalt);
  const body = { encryptionSalt, verificationSalt, verificationHash: proof };
  await user.post(`${path}/setup-encryption`).send(body).expect(200);
  return { id, masterKey, proof };
}

/** Adds a password slot as another device does. */
async function putPassword(
  vault: { id: string; masterKey: Uint8Array; proof: string },
  password: string,
): Promise<void> {
  const slotId = crypto.randomUUID();
  const slot = await makePasswordSlot({ workspaceId: vault.id, slotId }, vault.masterKey, password, cheap());
  const path = `/api/v1/workspaces/${vault.id}/key-slots/${slotId}`;
  await user
    .put(path)
    .send({ ...slot, verificationHash: vault.proof })
    .expect(201);
}

describe('a new vault', () => {
  it('opens with its password, on another device too, and with no other', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    expect(vault.hasSlots).toBe(true);
    const again = await Vault.unlock(session, vault.workspaceId.toUpperCase(), { password: PASSWORD });
    expect(encryptPath(again.keys, 'a.md')).toBe(encryptPath(vault.keys, 'a.md'));
    expect(again.hasSlots).toBe(true);
    await expect(Vault.unlock(session, vault.workspaceId, { password: 'wrong' })).rejects.toThrow(
      WrongSecret,
    );
    await expect(Vault.unlock(session, vault.workspaceId, { password: '' })).rejects.toThrow(WrongSecret);
  });

  it('can use either derivation', async () => {
    for (const kdf of ['argon2id', 'pbkdf2-sha256'] as const) {
      const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: () => newPasswordKdf(kdf) });
      expect((await vault.slots())[0]?.kdf).toMatchObject({ name: kdf });
      expect(await opens(vault.workspaceId, PASSWORD)).toBe(true);
    }
  });

  it('has a master key that the service cannot compute from the password', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    const path = `/api/v1/workspaces/${vault.workspaceId}/key-slots`;
    const { encryptionSalt } = (await user.get(path).expect(200)).body as { encryptionSalt: string };
    const derived = await deriveSubkeys(await deriveMasterKey(PASSWORD, encryptionSalt));
    expect(toHex(derived.path)).not.toBe(toHex(vault.keys.path));
  });

  it('is returned only when its password opens it, whichever response is lost', async () => {
    for (let last = 1; ; last++) {
      proxy.requests.length = 0;
      proxy.set(() => (proxy.requests.length === last ? { kind: 'cut after sending' } : undefined));
      const vault = await Vault.create(once(), 'notes', PASSWORD, { kdf: cheap }).catch(() => undefined);
      if (!vault) continue;
      expect(await opens(vault.workspaceId, PASSWORD)).toBe(true);
      expect(last).toBe(4);
      break;
    }
  });

  it('refuses an empty password before anything is created', async () => {
    const before = (await user.get('/api/v1/workspaces')).body as { workspaces: unknown[] };
    await expect(Vault.create(session, 'notes', '')).rejects.toThrow(RangeError);
    const after = (await user.get('/api/v1/workspaces')).body as { workspaces: unknown[] };
    expect(after.workspaces).toHaveLength(before.workspaces.length);
  });
});

describe('a change of the password', () => {
  const change = { old: PASSWORD, fresh: NEW_PASSWORD, kdf: cheap };

  it('replaces the password and leaves all other slots', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    const draft = await vault.draftRecoveryKey();
    await draft.confirm(draft.text);
    const seen: boolean[] = [];
    let checking: Promise<unknown> = Promise.resolve();
    const whenAdded = (): void => {
      checking = opens(vault.workspaceId, NEW_PASSWORD).then((does) => seen.push(does));
    };
    const changed = await Vault.changePassword(session, vault.workspaceId, { ...change, whenAdded });
    await checking;
    expect(seen).toEqual([true]);
    expect(changed).toEqual({ others: 0, isOldLeft: false });
    expect(await opens(vault.workspaceId, PASSWORD)).toBe(false);
    const again = await Vault.unlock(session, vault.workspaceId, { recoveryKey: draft.text });
    expect(toHex(again.keys.path)).toBe(toHex(vault.keys.path));
    expect(await kinds(vault)).toEqual(['recovery', 'password']);
  });

  it('can be repeated, and refuses the same password and wrong ones', async () => {
    const { workspaceId } = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    await Vault.changePassword(session, workspaceId, change);
    await Vault.changePassword(session, workspaceId, change);
    expect([await opens(workspaceId, PASSWORD), await opens(workspaceId, NEW_PASSWORD)]).toEqual([
      false,
      true,
    ]);
    const same = { old: 'é', fresh: 'e\u0301' };
    await expect(Vault.changePassword(session, workspaceId, same)).rejects.toThrow(RangeError);
    const wrong = { old: 'wrong', fresh: 'other' };
    await expect(Vault.changePassword(session, workspaceId, wrong)).rejects.toThrow(WrongSecret);
  });

  it.each(['with slots', 'without slots'])(
    'leaves a vault %s that one of the passwords opens, whichever response is lost; a repeat completes it',
    async (which) => {
      for (let last = 1; ; last++) {
        const id =
          which === 'with slots'
            ? (await Vault.create(session, 'notes', PASSWORD, { kdf: cheap })).workspaceId
            : (await vaultOfBefore(PASSWORD)).id;
        proxy.requests.length = 0;
        const written = () => proxy.requests.filter(({ method }) => method !== 'GET').length;
        proxy.set(({ method }) =>
          method !== 'GET' && written() === last ? { kind: 'cut after sending' } : undefined,
        );
        const changing = Vault.changePassword(once(), id, { ...change, kdf: cheap });
        const isWhole = await changing.then(
          () => true,
          () => false,
        );
        proxy.heal();
        const byOld = await Vault.unlock(session, id, { password: PASSWORD }).catch(() => undefined);
        expect(byOld !== undefined || (await opens(id, NEW_PASSWORD))).toBe(true);
        await Vault.changePassword(session, id, { ...change, kdf: cheap });
        expect([await opens(id, PASSWORD), await opens(id, NEW_PASSWORD)]).toEqual([false, true]);
        if (isWhole) break;
        expect(last).toBeLessThan(10);
      }
    },
  );

  it('reports that another device has added the old password meanwhile', async () => {
    const vault = await vaultOfBefore(PASSWORD);
    let writing: Promise<void> = Promise.resolve();
    const slow = once({
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
    expect(await Vault.changePassword(session, vault.id, change)).toEqual({ others: 0, isOldLeft: false });
  });

  it('counts and keeps other passwords', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    await vault.addPassword('a third password', cheap);
    const changed = await Vault.changePassword(session, vault.workspaceId, change);
    expect(changed).toEqual({ others: 1, isOldLeft: false });
    expect(await opens(vault.workspaceId, 'a third password')).toBe(true);
  });

  it('from a mistyped password to the real one keeps a vault without slots intact', async () => {
    const { id } = await vaultOfBefore(PASSWORD);
    proxy.set(({ method }) => (method === 'DELETE' ? { kind: 'reset' } : undefined));
    const mistyped = { old: 'mistyped', fresh: PASSWORD };
    await Vault.changePassword(once(), id, mistyped).catch(() => undefined);
    proxy.heal();
    expect(await opens(id, PASSWORD)).toBe(true);
  });
});

describe('a vault from before key slots', () => {
  it('gets a slot for the password that opens it', async () => {
    const { id, masterKey } = await vaultOfBefore(PASSWORD);
    await expect(Vault.unlock(session, id, { password: 'wrong' })).rejects.toThrow(WrongSecret);
    const vault = await Vault.unlock(session, id, { password: PASSWORD });
    expect(toHex(vault.keys.path)).toBe(toHex((await deriveSubkeys(masterKey)).path));
    expect(vault.hasSlots).toBe(true);
    expect(await kinds(vault)).toEqual(['password']);
    await Vault.unlock(session, id, { password: PASSWORD });
    expect(await kinds(vault)).toEqual(['password']);
  });

  it('opens with a token that may not write slots, and gets one the next time', async () => {
    const { id } = await vaultOfBefore(PASSWORD);
    proxy.set(({ method }) => (method === 'PUT' ? { kind: 'answer', status: 403 } : undefined));
    expect((await Vault.unlock(once(), id, { password: PASSWORD })).hasSlots).toBe(false);
    proxy.heal();
    expect((await Vault.unlock(once(), id, { password: PASSWORD })).hasSlots).toBe(true);
  });
});

describe('recovery keys, passkeys and slots', () => {
  it('a recovery key counts when it has been typed, and opens in any notation', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    const [draft, other] = [await vault.draftRecoveryKey(), await vault.draftRecoveryKey()];
    await expect(
      draft.confirm(`${draft.text.startsWith('X') ? 'Y' : 'X'}${draft.text.slice(1)}`),
    ).rejects.toThrow(RecoveryKeyTypo);
    await expect(draft.confirm(other.text)).rejects.toThrow(WrongSecret);
    const byDraft = Vault.unlock(session, vault.workspaceId, { recoveryKey: draft.text });
    await expect(byDraft).rejects.toThrow(WrongSecret);
    await draft.confirm(draft.text);
    const typed = draft.text.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l').replaceAll('-', ' ');
    const recovered = await Vault.unlock(session, vault.workspaceId, { recoveryKey: typed });
    await recovered.addPassword(NEW_PASSWORD, cheap);
    expect(await opens(vault.workspaceId, NEW_PASSWORD)).toBe(true);
    const typo = Vault.unlock(session, vault.workspaceId, { recoveryKey: typed.slice(1) });
    await expect(typo).rejects.toThrow(RecoveryKeyTypo);
  });

  it('a passkey opens the vault with its PRF output', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    const passkey = { credentialId: 'AAECAw', prfSalt: 'ab'.repeat(32) };
    const prfOutput = new Uint8Array(32).fill(7);
    const slotId = await vault.addPasskey(passkey, prfOutput, 'a label');
    expect(await Vault.passkeys(session, vault.workspaceId)).toEqual([{ slotId, ...passkey }]);
    const opened = await Vault.unlock(session, vault.workspaceId, { slotId, prfOutput });
    expect(toHex(opened.keys.path)).toBe(toHex(vault.keys.path));
    const wrong = { slotId, prfOutput: new Uint8Array(32) };
    await expect(Vault.unlock(session, vault.workspaceId, wrong)).rejects.toThrow(WrongSecret);
    expect((await vault.slots())[1]?.label).toBe('a label');
  });

  it('a slot can be removed, except the one that opened the vault', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    const [own] = await vault.slots();
    await expect(vault.removeSlot(own?.id ?? '')).rejects.toThrow(/by another key slot/);
    await expect(vault.removeSlot(crypto.randomUUID())).rejects.toThrow(/no such key slot/);
    const draft = await vault.draftRecoveryKey();
    await draft.confirm(draft.text);
    const recovered = await Vault.unlock(session, vault.workspaceId, { recoveryKey: draft.text });
    await recovered.removeSlot(own?.id.toUpperCase() ?? '');
    expect(await kinds(vault)).toEqual(['recovery']);
    const [last] = await vault.slots();
    await expect(vault.removeSlot(last?.id ?? '')).rejects.toMatchObject({ status: 409 });
  });
});

describe('a hostile service', () => {
  it('receives nothing derived from the password by hiding the slots', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    const hiding = lying((list) => ({ ...list, slots: [] }));
    const unlocking = Vault.unlock(hiding, vault.workspaceId, { password: PASSWORD }, { hasSlots: true });
    await expect(unlocking).rejects.toThrow(SlotsHidden);
    const change = { old: PASSWORD, fresh: NEW_PASSWORD, hasSlots: true };
    await expect(Vault.changePassword(hiding, vault.workspaceId, change)).rejects.toThrow(SlotsHidden);
    expect(proxy.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  it('can neither enforce weak parameters nor hide a good slot behind them', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
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
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
    const liar = lying(({ slots, ...list }) => ({ ...list, slots: alter(slots[0] ?? {}) }));
    const unlocking = Vault.unlock(liar, vault.workspaceId, { password: PASSWORD });
    await expect(unlocking).rejects.toThrow(InvalidAnswer);
  });

  it('cannot pass off a malformed wrapped key, or one of another slot', async () => {
    const vault = await Vault.create(session, 'notes', PASSWORD, { kdf: cheap });
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
    const { id } = await user.workspace();
    await expect(Vault.unlock(session, id, { password: PASSWORD })).rejects.toThrow(/has not been set up/);
  });
});
