import { createHook } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import {
  formatRecoveryKey,
  generateRecoveryKey,
  makePasskeySlot,
  makePasswordSlot,
  makeRecoverySlot,
  type PasswordKdf,
  verificationHash,
} from '../../../crypto/src/index.js';
import { automationPath, TestVault } from '../../kit/automation.js';
import { eventually, startService, type TestService, type TestUser } from '../../kit/index.js';
import { storeUncheckedSlot } from '../../kit/key-slots.js';

const OLD = 'the old password of the vault';
const PASSWORD = 'Ünïcode pass – 12 ﬁsh';

const salt = (): string => randomBytes(32).toString('hex');
const argon2id = (memoryKiB = 19_456, passes = 2): PasswordKdf => ({
  name: 'argon2id',
  salt: salt(),
  memoryKiB,
  passes,
  lanes: 1,
});
const pbkdf2 = (iterations = 600_000): PasswordKdf => ({ name: 'pbkdf2-sha256', salt: salt(), iterations });
const OF_PASSKEY = { credentialId: 'Y3JlZGVudGlhbA', prfSalt: salt() };

let service: TestService;
let alice: TestUser;
beforeAll(async () => {
  service = await startService({ env: { RATE_LIMIT_PER_MINUTE: '0' } });
  alice = await service.user('alice');
});
afterAll(() => service.close());

/** A vault without slots: with a password as before key slots, without one with a random master key. */
const newVault = async (password?: string, owner = alice): Promise<TestVault> =>
  TestVault.setUp(await owner.workspace(), password);

async function addPassword(vault: TestVault, password: string, kdf = argon2id()): Promise<string> {
  const place = vault.newSlotPlace();
  await vault.putSlot(place.slotId, await makePasswordSlot(place, vault.masterKey, password, kdf));
  return place.slotId;
}

async function addRecovery(vault: TestVault): Promise<string> {
  const place = vault.newSlotPlace();
  const key = generateRecoveryKey();
  await vault.putSlot(place.slotId, await makeRecoverySlot(place, vault.masterKey, key));
  return formatRecoveryKey(key);
}

async function addPasskey(vault: TestVault): Promise<void> {
  const place = vault.newSlotPlace();
  const slot = await makePasskeySlot(place, vault.masterKey, randomBytes(32), OF_PASSKEY);
  await vault.putSlot(place.slotId, slot);
}

async function removeSlot({ workspace, masterKey }: TestVault, slotId: string): Promise<void> {
  const { body } = await workspace.user.get(`${workspace.path}/key-slots`).expect(200);
  await workspace.user
    .delete(`${workspace.path}/key-slots/${slotId}`)
    .send({ verificationHash: await verificationHash(masterKey, body.verificationSalt) })
    .expect(200);
}

/** Stores a slot with parameters that the module refuses; clients of earlier versions could. */
async function addForeign({ workspace }: TestVault, kdf: Record<string, unknown>): Promise<void> {
  const wrappedKey = randomBytes(93).toString('base64');
  await storeUncheckedSlot(service.database, workspace.id, { kdf, wrappedKey });
}

/** The status of an attempt; when it opens, the session reads what the vault holds. */
async function attempt(vault: TestVault, credential: object): Promise<number> {
  const { status, body } = await vault.openSession(credential);
  if (status === 201) await vault.with(body.keySession).request('get', '/notes').expect(200);
  return status;
}

const errorOf = async (vault: TestVault, credential: object, status: number): Promise<string> =>
  (await vault.openSession(credential).expect(status)).body.error;

/** Tells derivations for vaults from those of connections to PostgreSQL. */
const OF_A_VAULT = /derivePasswordKek|deriveMasterKey/;

/** Counts derivations from passwords of vaults in this process: in total, and at most at once. */
class Derivations {
  begun = 0;
  most = 0;
  private readonly running = new Set<number>();
  private readonly hook;

  constructor(types: readonly string[]) {
    this.hook = createHook({
      init: (id, type) => {
        if (!types.includes(type) || !OF_A_VAULT.test(new Error().stack ?? '')) return;
        this.begun++;
        this.running.add(id);
        this.most = Math.max(this.most, this.running.size);
      },
      before: (id) => void this.running.delete(id),
    });
  }

  async during(work: () => Promise<unknown>): Promise<this> {
    this.hook.enable();
    await work().finally(() => this.hook.disable());
    return this;
  }
}

const KEY_DERIVATIONS = ['PBKDF2REQUEST', 'ARGON2REQUEST'];

describe('a vault with password slots', () => {
  it('opens with each of its passwords, by either derivation, in any Unicode form', async () => {
    const vault = await newVault();
    await addPassword(vault, PASSWORD, argon2id());
    await addPassword(vault, 'of another device', pbkdf2());
    expect(await attempt(vault, { password: PASSWORD.normalize('NFD') })).toBe(201);
    expect(await attempt(vault, { password: 'of another device' })).toBe(201);
    expect(await attempt(vault, { key: vault.masterKey.toString('base64') })).toBe(201);
    expect(await errorOf(vault, { password: 'of nobody' }, 403)).toBe('the password is wrong');
  });

  it('does not open with a password whose slot was removed', async () => {
    const vault = await newVault();
    const first = await addPassword(vault, 'the first password');
    await addPassword(vault, 'the second password');
    await removeSlot(vault, first);
    expect(await attempt(vault, { password: 'the first password' })).toBe(403);
    expect(await attempt(vault, { password: 'the second password' })).toBe(201);
  });

  it('does not open with a slot that holds another key', async () => {
    const vault = await newVault();
    const place = vault.newSlotPlace();
    await vault.putSlot(place.slotId, await makePasswordSlot(place, randomBytes(32), PASSWORD, argon2id()));
    expect(await attempt(vault, { password: PASSWORD })).toBe(403);
    await addPassword(vault, PASSWORD);
    expect(await attempt(vault, { password: PASSWORD })).toBe(201);
  });

  it('does not open with a slot of another workspace', async () => {
    const [vault, other] = [await newVault(), await newVault()];
    const place = vault.newSlotPlace();
    await other.putSlot(place.slotId, await makePasswordSlot(place, other.masterKey, PASSWORD, argon2id()));
    expect(await attempt(other, { password: PASSWORD })).toBe(403);
  });
});

describe('a vault from before key slots', () => {
  it('opens with its password while it has no slot', async () => {
    const vault = await newVault(OLD);
    expect(await attempt(vault, { password: OLD })).toBe(201);
    expect(await attempt(vault, { password: `${OLD}!` })).toBe(403);
  });

  it('opens with the new password alone once it has a slot', async () => {
    const vault = await newVault(OLD);
    await addPassword(vault, PASSWORD);
    expect(await attempt(vault, { password: PASSWORD })).toBe(201);
    const counted = await new Derivations(['PBKDF2REQUEST']).during(async () => {
      expect(await attempt(vault, { password: OLD })).toBe(403);
    });
    expect(counted.begun).toBe(0);
  });

  it('opens with its password after a recovery key and a passkey were added', async () => {
    const vault = await newVault(OLD);
    const recoveryKey = await addRecovery(vault);
    await addPasskey(vault);
    expect(await attempt(vault, { password: OLD })).toBe(201);
    expect(await attempt(vault, { recoveryKey })).toBe(201);
  });
});

describe('a vault with recovery keys', () => {
  let vault: TestVault;
  let recoveryKey: string;
  beforeAll(async () => {
    vault = await newVault();
    await addRecovery(vault);
    await addPasskey(vault);
    recoveryKey = await addRecovery(vault);
  });

  it('opens with a recovery key in any notation people type, without a derivation', async () => {
    const counted = await new Derivations(KEY_DERIVATIONS).during(async () => {
      for (const typed of [
        recoveryKey,
        recoveryKey.toLowerCase().replaceAll('-', ' '),
        ` ${recoveryKey.replaceAll('-', '').replaceAll('0', 'o').replaceAll('1', 'l')}\n`,
      ])
        expect(await attempt(vault, { recoveryKey: typed })).toBe(201);
    });
    expect(counted.begun).toBe(0);
  });

  it('distinguishes a typing error from the recovery key of another vault', async () => {
    const typed = recoveryKey.slice(0, -1) + (recoveryKey.endsWith('Z') ? 'Y' : 'Z');
    expect(await errorOf(vault, { recoveryKey: typed }, 400)).toMatch(/^a character of the recovery key is/);
    expect(await errorOf(vault, { recoveryKey: recoveryKey.slice(1) }, 400)).toMatch(/; this one has 55$/);
    const other = await formatRecoveryKey(randomBytes(32));
    expect(await errorOf(vault, { recoveryKey: other }, 403)).toBe('the recovery key is wrong');
  });

  it('refuses a body with two credentials or none with 400, and a vault without one is 409', async () => {
    const none = await newVault();
    expect(await errorOf(none, { recoveryKey }, 409)).toBe('the workspace has no recovery key');
    for (const body of [
      { recoveryKey, password: PASSWORD },
      { recoveryKey, key: vault.masterKey.toString('base64') },
      { recoveryKey: null },
      { recoveryKey: '' },
      { recoveryKey: 7 },
      { recoveryKey: [recoveryKey] },
      { recoveryKey: 'x'.repeat(1025) },
    ])
      await vault.openSession(body).expect(400);
    const bare = await alice.workspace('bare');
    await alice
      .post(`${automationPath(bare.id)}/key-sessions`)
      .send({ recoveryKey })
      .expect(409);
  });
});

describe('the derivation budget of a request', () => {
  const REFUSED = /^the password opens none of the key slots that were tried; others have parameters/;

  it('runs no derivation for parameters outside the bounds or the budget', async () => {
    const vault = await newVault();
    for (const kdf of [
      pbkdf2(599_999),
      pbkdf2(6_000_001),
      argon2id(131_072, 4),
      { ...argon2id(), name: 'scrypt' },
    ])
      await addForeign(vault, { ...kdf });
    const counted = await new Derivations(KEY_DERIVATIONS).during(async () => {
      expect(await errorOf(vault, { password: PASSWORD }, 409)).toMatch(REFUSED);
    });
    expect(counted.begun).toBe(0);
    expect(await attempt(vault, { key: vault.masterKey.toString('base64') })).toBe(201);
  });

  it('does not keep a slot within it from opening beside others', async () => {
    const vault = await newVault();
    await addForeign(vault, { ...pbkdf2(10_000_000) });
    await addForeign(vault, { ...argon2id(8, 1) });
    await addPassword(vault, PASSWORD);
    expect(await attempt(vault, { password: PASSWORD })).toBe(201);
    expect(await errorOf(vault, { password: 'a guess' }, 409)).toMatch(REFUSED);
  });

  it('is spent on the cheapest slots first', async () => {
    const vault = await newVault();
    const costly = await makePasswordSlot(vault.newSlotPlace(), vault.masterKey, 'x', pbkdf2());
    for (const iterations of [5_900_000, 5_800_000, 600_000])
      await addForeign(vault, { ...costly.kdf, iterations });
    await addPassword(vault, PASSWORD);
    const counted = await new Derivations(KEY_DERIVATIONS).during(async () => {
      expect(await errorOf(vault, { password: 'a guess' }, 409)).toMatch(REFUSED);
    });
    expect(counted.begun).toBe(3);
    expect(await attempt(vault, { password: PASSWORD })).toBe(201);
  });

  it('covers four slots with the parameters of new ones', async () => {
    const vault = await newVault();
    for (let slot = 0; slot < 4; slot++) await addForeign(vault, { ...argon2id(65_536, 3) });
    const counted = await new Derivations(KEY_DERIVATIONS).during(async () => {
      expect(await errorOf(vault, { password: 'a guess' }, 403)).toBe('the password is wrong');
    });
    expect(counted.begun).toBe(4);
  });

  it('allows ten attempts a minute, not counting malformed keys', async () => {
    const limited = await startService({ beside: service, env: { RATE_LIMIT_PER_MINUTE: '1000' } });
    limited.clock.stopAt(limited.clock.now());
    const vault = await newVault();
    const recoveryKey = await addRecovery(vault);
    const there = vault.with('', alice.at(limited.url));
    for (let tries = 0; tries < 10; tries++) {
      const wrong = { recoveryKey: await formatRecoveryKey(randomBytes(32)) };
      await there.openSession(wrong).expect(403);
      await there.openSession({ recoveryKey: recoveryKey.slice(1) }).expect(400); // not an attempt
    }
    await there.openSession({ recoveryKey }).expect(429);
    await limited.close();
  });
});

describe('concurrent requests for key sessions', () => {
  const USERS = 4;
  const EACH = 3;

  /** One vault per user. */
  const vaultsWith = (kdfOf: (user: number) => PasswordKdf): Promise<TestVault[]> =>
    Promise.all(
      Array.from({ length: USERS }, async (_, n) => {
        const vault = await newVault(undefined, await service.user(`owner-${++owners}`));
        await addForeign(vault, { ...kdfOf(n) });
        return vault;
      }),
    );
  let owners = 0;

  it('derive at most two keys at once, one with Argon2id, while other requests are answered', async () => {
    const vaults = await vaultsWith((n) => (n % 2 ? pbkdf2(1_200_000) : argon2id(32_768, 2)));
    const statuses: number[] = [];
    const flood = (): Promise<unknown> =>
      Promise.all(
        vaults.flatMap((vault) =>
          Array.from({ length: EACH }, async () => {
            statuses.push((await vault.openSession({ password: 'a guess' })).status);
          }),
        ),
      );
    let answered = 0;
    const memory = new Derivations(['ARGON2REQUEST']);
    const all = await new Derivations(KEY_DERIVATIONS).during(() =>
      memory.during(async () => {
        let isFlooding = true;
        const flooding = flood().finally(() => (isFlooding = false));
        await eventually(() => expect(statuses.length).toBeGreaterThan(0));
        for (; isFlooding; answered++) await alice.get('/health').expect(200);
        await flooding;
      }),
    );
    for (const status of statuses) expect([403, 503]).toContain(status);
    expect(all.begun).toBe(statuses.filter((status) => status === 403).length);
    expect([all.most, memory.most]).toEqual([2, 1]);
    expect(answered).toBeGreaterThan(3);
  });

  it('derive with Argon2id one at a time, however many users ask', async () => {
    const vaults = await vaultsWith(() => argon2id(65_536, 3));
    const statuses: number[] = [];
    const memory = await new Derivations(['ARGON2REQUEST']).during(async () => {
      const answers = await Promise.all(vaults.map((vault) => vault.openSession({ password: 'a guess' })));
      statuses.push(...answers.map(({ status }) => status));
    });
    // On a slow machine the last ones are refused with 503 before it is their turn.
    for (const status of statuses) expect([403, 503]).toContain(status);
    expect(memory.begun).toBe(statuses.filter((status) => status === 403).length);
    expect(memory.begun).toBeGreaterThan(1);
    expect(memory.most).toBe(1);
  });

  it('with costly slots do not make a user with a cheap slot wait for all of them', async () => {
    const mallory = await service.user('mallory');
    const costly = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const vault = await newVault(undefined, mallory);
        await addForeign(vault, { ...pbkdf2(6_000_000) });
        return vault;
      }),
    );
    const bob = await newVault(undefined, await service.user('bob'));
    await addPassword(bob, PASSWORD, pbkdf2());
    let done = 0;
    const guesses = costly.map((vault) =>
      vault.openSession({ password: 'a guess' }).then(({ status }) => (done++, status)),
    );
    await eventually(() => expect(done).toBeGreaterThan(0));
    expect(await attempt(bob, { password: PASSWORD })).toBe(201);
    expect(done).toBeLessThan(costly.length);
    for (const status of await Promise.all(guesses)) expect([403, 503]).toContain(status);
  });
});
