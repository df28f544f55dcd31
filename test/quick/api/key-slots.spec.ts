import { randomBytes, randomUUID } from 'node:crypto';
import type supertest from 'supertest';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { eventually, sha256, startService, type TestService, TestWorkspace } from '../../kit/index.js';
import { kdfOf, KDFS, storeUncheckedSlot, wrappedKeyOf } from '../../kit/key-slots.js';

const PROOF = sha256('knowledge of the master key');
const SALTS = { encryptionSalt: 'ab'.repeat(32), verificationSalt: 'cd'.repeat(32) };
const PBKDF2 = KDFS.password;
const ARGON2ID = { name: 'argon2id', salt: 'ef'.repeat(32), memoryKiB: 19_456, passes: 2, lanes: 1 };

interface Slot {
  id: string;
  kind: string;
  label: string | null;
  kdf: object;
  wrappedKey: string;
  createdAt: string;
  updatedAt: string;
}

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());
afterEach(() => service.clock.stopAt(new Date()));

let names = 0;
/** The workspace of a new user, with encryption set up. */
async function vault(at = service): Promise<TestWorkspace> {
  const workspace = await (await at.user(`slots-${++names}`)).workspace();
  const setup = { ...SALTS, verificationHash: PROOF };
  await workspace.user.post(`${workspace.path}/setup-encryption`).send(setup).expect(200);
  return workspace;
}

const wrapped = (): string => randomBytes(93).toString('base64');
const content = (fields: Readonly<Record<string, unknown>> = {}): object => ({
  verificationHash: PROOF,
  kind: 'password',
  kdf: kdfOf(fields['kind']),
  wrappedKey: wrapped(),
  ...fields,
});

const pathOf = ({ path }: TestWorkspace, id: string): string => `${path}/key-slots/${id}`;
const put = (workspace: TestWorkspace, id: string, body: object = content()): supertest.Test =>
  workspace.user.put(pathOf(workspace, id)).send(body);
const remove = (workspace: TestWorkspace, id: string, verificationHash = PROOF): supertest.Test =>
  workspace.user.delete(pathOf(workspace, id)).send({ verificationHash });
const slotsOf = async (workspace: TestWorkspace): Promise<Slot[]> =>
  (await workspace.user.get(`${workspace.path}/key-slots`).expect(200)).body.slots;
const slotAt = async (workspace: TestWorkspace, id: string): Promise<Slot> => {
  const found = (await slotsOf(workspace)).find((slot) => slot.id === id);
  if (!found) throw new Error(`no slot ${id}`);
  return found;
};
const ids = async (workspace: TestWorkspace): Promise<string[]> =>
  (await slotsOf(workspace)).map(({ id }) => id);

async function filled(workspace: TestWorkspace, kinds: readonly string[]): Promise<string[]> {
  const made: string[] = [];
  for (const kind of kinds) {
    const id = randomUUID();
    await put(workspace, id, content({ kind })).expect(201);
    made.push(id);
  }
  return made;
}

describe('GET key-slots', () => {
  it('returns null salts and no slots before encryption is set up', async () => {
    const workspace = await (await service.user('bare')).workspace();
    const { body } = await workspace.user.get(`${workspace.path}/key-slots`).expect(200);
    expect(body).toEqual({ encryptionSalt: null, verificationSalt: null, slots: [] });
  });

  it('returns both salts and the stored slots, oldest first', async () => {
    const workspace = await vault();
    const id = randomUUID();
    const kdf = KDFS.passkey;
    const slot = { kind: 'passkey', label: 'b64:ÿ\u{1F511}\n', kdf, wrappedKey: wrapped() };
    service.clock.stopAt(new Date('2026-03-09T10:11:12.345Z'));
    const { body } = await put(workspace, id.toUpperCase(), { verificationHash: PROOF, ...slot }).expect(201);
    const first = {
      id,
      ...slot,
      createdAt: '2026-03-09T10:11:12.345Z',
      updatedAt: '2026-03-09T10:11:12.345Z',
    };
    expect(body).toEqual(first);
    service.clock.stopAt(new Date('2026-03-09T10:11:13.000Z'));
    const second = (await put(workspace, '00000000-0000-4000-8000-000000000000').expect(201)).body;
    expect(second.label).toBeNull();
    const list = await workspace.user.get(`${workspace.path}/key-slots`).expect(200);
    expect(list.body).toEqual({ ...SALTS, slots: [first, second] });
  });

  it('is readable without a subscription', async () => {
    const workspace = await vault();
    await service.database.query('DELETE FROM subscriptions WHERE user_id = $1', [workspace.user.id]);
    await workspace.user.get(`${workspace.path}/key-slots`).expect(200);
  });
});

const NO_WRAPPED_KEY = 'wrappedKey must be base64 of 93 bytes';
const NO_PASSWORD_KDF =
  'kdf must be pbkdf2-sha256 with salt and iterations, or argon2id with salt, memoryKiB, passes and lanes, and have no other member';
const NO_RECOVERY_KDF = 'kdf must be hkdf-sha256, and have no other member';
const NO_PASSKEY_KDF = 'kdf must be hkdf-sha256 with credentialId and prfSalt, and have no other member';
const ITERATIONS = 'iterations 600000 to 10000000';
const COSTS = 'memoryKiB 19456 to 131072, passes 2 to 10, lanes 1 to 4';

describe('PUT key-slots', () => {
  it('replaces a slot: 200, same createdAt, later updatedAt even when the clock is set back', async () => {
    const workspace = await vault();
    const id = randomUUID();
    service.clock.stopAt(new Date('2026-03-09T10:00:00.000Z'));
    const before = (await put(workspace, id).expect(201)).body;
    service.clock.stopAt(new Date('2026-03-09T09:00:00.000Z'));
    const body = content({ kind: 'recovery', label: 'x' });
    const after = (await put(workspace, id, body).expect(200)).body;
    expect(after).toEqual({
      ...body,
      verificationHash: undefined,
      id,
      createdAt: before.createdAt,
      updatedAt: '2026-03-09T10:00:00.001Z',
    });
    expect(await slotsOf(workspace)).toEqual([after]);
  });

  it('is 409 before encryption is set up', async () => {
    const workspace = await (await service.user('not-set-up')).workspace();
    const { body } = await put(workspace, randomUUID()).expect(409);
    expect(body).toEqual({ error: 'encryption is not set up' });
    await remove(workspace, randomUUID()).expect(409);
  });

  it('is 403 without the right verificationHash, and changes nothing', async () => {
    const workspace = await vault();
    const [id = ''] = await filled(workspace, ['password']);
    const before = await slotsOf(workspace);
    const verificationHash = sha256('a guess');
    const { body } = await put(workspace, randomUUID(), content({ verificationHash })).expect(403);
    expect(body).toEqual({ error: 'verificationHash is wrong' });
    await put(workspace, id, content({ verificationHash })).expect(403);
    expect(await slotsOf(workspace)).toEqual(before);
    await put(workspace, randomUUID(), content({ verificationHash: PROOF.toUpperCase() })).expect(201);
  });

  it.each([
    ['a missing kind', { kind: undefined }, 'kind must be one of password, recovery, passkey'],
    ['an unknown kind', { kind: 'fingerprint' }, 'kind must be one of password, recovery, passkey'],
    [
      'a label of 513 characters',
      { label: 'x'.repeat(513) },
      'label must be a string of at most 512 characters',
    ],
    ['a label with U+0000', { label: '\0' }, 'label must be a string of at most 512 characters'],
    ['a label that is not a string', { label: 5 }, 'label must be a string of at most 512 characters'],
    ['a missing kdf', { kdf: undefined }, NO_PASSWORD_KDF],
    ['an empty wrappedKey', { wrappedKey: '' }, NO_WRAPPED_KEY],
    ['a wrappedKey of 3 bytes', { wrappedKey: 'AAAA' }, NO_WRAPPED_KEY],
    ['a wrappedKey of 92 bytes', { wrappedKey: randomBytes(92).toString('base64') }, NO_WRAPPED_KEY],
    ['a wrappedKey of 94 bytes', { wrappedKey: randomBytes(94).toString('base64') }, NO_WRAPPED_KEY],
    ['a wrappedKey in base64url', { wrappedKey: `_-${'A'.repeat(122)}` }, NO_WRAPPED_KEY],
    ['a wrappedKey that is not a string', { wrappedKey: [wrappedKeyOf('')] }, NO_WRAPPED_KEY],
    ['an unknown member', { Label: 'x' }, 'unknown member "Label"'],
    [
      'a missing verificationHash',
      { verificationHash: undefined },
      'verificationHash must be 64 hex characters',
    ],
  ])('is 400 for %s', async (_, fields, error) => {
    const workspace = await vault();
    const { body } = await put(workspace, randomUUID(), content(fields)).expect(400);
    expect(body).toEqual({ error });
    expect(await slotsOf(workspace)).toEqual([]);
  });

  it.each<[string, string, unknown, string]>([
    ['a list', 'password', [], NO_PASSWORD_KDF],
    ['a string', 'password', JSON.stringify(PBKDF2), NO_PASSWORD_KDF],
    ['an unknown name', 'password', { name: 'scrypt', salt: PBKDF2.salt, N: 131_072 }, NO_PASSWORD_KDF],
    ['an inherited name', 'password', { name: 'constructor', salt: PBKDF2.salt }, NO_PASSWORD_KDF],
    ['an unknown member', 'password', { ...PBKDF2, pepper: 'x' }, NO_PASSWORD_KDF],
    ['a missing member', 'password', { ...ARGON2ID, lanes: undefined }, NO_PASSWORD_KDF],
    ['a salt of 31 bytes', 'password', { ...PBKDF2, salt: 'ef'.repeat(31) }, NO_PASSWORD_KDF],
    ['a salt in capitals', 'password', { ...PBKDF2, salt: 'EF'.repeat(32) }, NO_PASSWORD_KDF],
    ['a fraction', 'password', { ...PBKDF2, iterations: 1_000_000.5 }, NO_PASSWORD_KDF],
    ['a number as a string', 'password', { ...PBKDF2, iterations: '600000' }, NO_PASSWORD_KDF],
    ['too few iterations', 'password', { ...PBKDF2, iterations: 599_999 }, `kdf is too weak: ${ITERATIONS}`],
    [
      'too many iterations',
      'password',
      { ...PBKDF2, iterations: 10_000_001 },
      `kdf is too expensive: ${ITERATIONS}`,
    ],
    ['too little memory', 'password', { ...ARGON2ID, memoryKiB: 19_455 }, `kdf is too weak: ${COSTS}`],
    ['one pass', 'password', { ...ARGON2ID, passes: 1 }, `kdf is too weak: ${COSTS}`],
    ['no lane', 'password', { ...ARGON2ID, lanes: 0 }, `kdf is too weak: ${COSTS}`],
    ['too much memory', 'password', { ...ARGON2ID, memoryKiB: 131_073 }, `kdf is too expensive: ${COSTS}`],
    ['the kdf of another kind', 'recovery', PBKDF2, NO_RECOVERY_KDF],
    ['an empty object', 'recovery', {}, NO_RECOVERY_KDF],
    ['an additional member', 'recovery', KDFS.passkey, NO_RECOVERY_KDF],
    ['no credential id', 'passkey', KDFS.recovery, NO_PASSKEY_KDF],
    ['trailing bits', 'passkey', { ...KDFS.passkey, credentialId: 'AB' }, NO_PASSKEY_KDF],
    ['a long credential id', 'passkey', { ...KDFS.passkey, credentialId: 'A'.repeat(684) }, NO_PASSKEY_KDF],
    ['a short PRF salt', 'passkey', { ...KDFS.passkey, prfSalt: 'ef' }, NO_PASSKEY_KDF],
  ])('is 400 for a kdf that clients would refuse: %s, %s', async (_, kind, kdf, error) => {
    const workspace = await vault();
    const { body } = await put(workspace, randomUUID(), content({ kind, kdf })).expect(400);
    expect(body).toEqual({ error });
    expect(await slotsOf(workspace)).toEqual([]);
  });

  it.each<[string, string, object]>([
    ['the fewest iterations', 'password', PBKDF2],
    ['the most iterations', 'password', { ...PBKDF2, iterations: 10_000_000 }],
    ['the lowest costs of Argon2id', 'password', ARGON2ID],
    ['the highest costs of Argon2id', 'password', { ...ARGON2ID, memoryKiB: 131_072, passes: 10, lanes: 4 }],
    [
      'the longest credential id',
      'passkey',
      { ...KDFS.passkey, credentialId: Buffer.alloc(512).toString('base64url') },
    ],
  ])('accepts all fields at their limits: %s', async (_, kind, kdf) => {
    const fields = { kind, kdf, label: '\u{1F511}'.repeat(512), wrappedKey: wrapped() };
    const { body } = await put(await vault(), randomUUID(), content(fields)).expect(201);
    expect(body).toMatchObject(fields);
  });

  it('is 400 for an id that is not a UUID', async () => {
    const workspace = await vault();
    await put(workspace, 'first').expect(400, { error: 'slotId must be a UUID' });
  });

  it('allows 4 passwords and 16 slots, which can still be replaced', async () => {
    const workspace = await vault();
    const made = await filled(workspace, ['password', 'password', 'password', 'password']);
    const { body } = await put(workspace, randomUUID()).expect(409);
    expect(body).toEqual({ error: 'a workspace can have at most 4 passwords: delete one first' });
    await put(workspace, made[0]!).expect(200);
    const others = await filled(workspace, Array<string>(12).fill('recovery'));
    await put(workspace, others[0]!).expect(409); // a fifth password
    await put(workspace, others[0]!, content({ kind: 'passkey' })).expect(200);
    const beyond = await put(workspace, randomUUID(), content({ kind: 'passkey' })).expect(409);
    expect(beyond.body).toEqual({ error: 'a workspace can have at most 16 key slots: delete one first' });
    expect(await ids(workspace)).toHaveLength(16);
  });
});

describe('DELETE key-slots', () => {
  it('deletes a slot; a repeat is 404', async () => {
    const workspace = await vault();
    const [first = '', second] = await filled(workspace, ['password', 'recovery']);
    await remove(workspace, first).expect(200, { ok: true });
    expect(await ids(workspace)).toEqual([second]);
    await remove(workspace, first).expect(404, { error: 'key slot not found' });
  });

  it('is 403 without the right verificationHash, and 409 for the last slot', async () => {
    const workspace = await vault();
    const [only = ''] = await filled(workspace, ['password']);
    await remove(workspace, only, sha256('a guess')).expect(403);
    const { body } = await remove(workspace, only).expect(409);
    expect(body).toEqual({
      error: 'the last key slot of a workspace cannot be deleted: add another one first',
    });
    expect(await ids(workspace)).toEqual([only]);
  });

  it('is 400 for an unknown member, which the error names', async () => {
    const workspace = await vault();
    const [first = ''] = await filled(workspace, ['password', 'recovery']);
    const body = { verificationHash: PROOF, ifMatch: 'x' };
    await workspace.user
      .delete(pathOf(workspace, first))
      .send(body)
      .expect(400, { error: 'unknown member "ifMatch"' });
    expect(await ids(workspace)).toHaveLength(2);
  });

  it.each<[string, { kind?: string; kdf: object; wrappedKey?: string }]>([
    ['an unknown kdf', { kdf: { name: 'scrypt' } }],
    ['too few iterations', { kdf: { ...PBKDF2, iterations: 1_000 } }],
    ['a wrapped key of 3 bytes', { kdf: PBKDF2, wrappedKey: 'AAAA' }],
  ])('keeps the last slot that opens the vault, beside an unusable one with %s', async (_, stored) => {
    const workspace = await vault();
    const unusable = await storeUncheckedSlot(service.database, workspace.id, stored);
    await remove(workspace, unusable).expect(409); // a vault that has had slots keeps one
    const [only = ''] = await filled(workspace, ['recovery']);
    expect(await slotAt(workspace, unusable)).toMatchObject(stored);
    await remove(workspace, only).expect(409);
    await remove(workspace, unusable).expect(200);
    await remove(workspace, only).expect(409);
    expect(await ids(workspace)).toEqual([only]);
  });

  it('does not affect a slot of another workspace', async () => {
    const [mine, other] = [await vault(), await vault()];
    await filled(mine, ['password', 'recovery']);
    const [foreign = ''] = await filled(other, ['password', 'recovery']);
    await remove(mine, foreign).expect(404);
    await put(mine, foreign).expect(201);
    expect(await ids(other)).toHaveLength(2);
  });
});

describe('If-Match', () => {
  it('admits a write only if the slot is unchanged', async () => {
    const workspace = await vault();
    const [id = ''] = await filled(workspace, ['password', 'recovery']);
    const { updatedAt } = await slotAt(workspace, id);
    const conditional = (tag: string): supertest.Test => put(workspace, id).set('If-Match', tag);
    await conditional(`"${updatedAt}"`).expect(200);
    const { body } = await conditional(`"${updatedAt}"`).expect(412);
    expect(body).toEqual({ error: 'the key slot has changed' });
    await remove(workspace, id).set('If-Match', `"${updatedAt}"`).expect(412);
    await conditional('*').expect(200);
    await conditional('W/"x"').expect(412);
    await conditional(updatedAt).expect(400);
    const now = await slotAt(workspace, id);
    await remove(workspace, id).set('If-Match', `"x", "${now.updatedAt}"`).expect(200);
    await conditional('*').expect(412); // the slot does not exist
    expect(await ids(workspace)).toHaveLength(1);
  });
});

describe('access', () => {
  it('needs full for writes; documents:read is enough to read', async () => {
    const workspace = await vault();
    await filled(workspace, ['password', 'recovery']);
    const mint = async (body: object): Promise<TestWorkspace> => {
      const { token } = (
        await workspace.user
          .post('/api/v1/auth/tokens')
          .send({ name: 't', ...body })
          .expect(201)
      ).body;
      return workspace.as(workspace.user.at(service.url, token));
    };
    const reader = await mint({ scopes: ['documents:read', 'documents:write'] });
    expect(await ids(reader)).toHaveLength(2);
    await put(reader, randomUUID()).expect(403);
    const bound = await mint({ scopes: ['full'], workspaceId: workspace.id });
    await put(bound, randomUUID()).expect(201);
  });

  it('allows ten writes a minute for a workspace', async () => {
    const limited = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1200' } });
    try {
      const workspace = await vault(limited);
      const guess = { verificationHash: sha256('a guess') };
      for (let tries = 0; tries < 10; tries++) await put(workspace, randomUUID(), content(guess)).expect(403);
      await put(workspace, randomUUID()).expect(429);
      await remove(workspace, randomUUID()).expect(429);
      await put(await vault(limited), randomUUID()).expect(201);
    } finally {
      await limited.close();
    }
  });
});

describe('concurrent writes', () => {
  let first: TestService;
  let second: TestService;
  beforeAll(async () => {
    first = await startService();
    second = await startService({ beside: first });
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });
  const both = async (): Promise<[TestWorkspace, TestWorkspace]> => {
    const here = await vault(first);
    return [here, here.as(here.user.at(second.url))];
  };

  it('never delete the last slot: two devices that delete each other’s', async () => {
    const [here, there] = await both();
    for (let round = 0; round < 10; round++) {
      const [one = '', other = ''] = [
        ...(await ids(here)),
        ...(await filled(here, round === 0 ? ['recovery', 'recovery'] : ['recovery'])),
      ];
      const answers = await Promise.all([remove(here, one), remove(there, other)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      expect(await ids(there)).toHaveLength(1);
    }
  });

  it('never exceed the caps', async () => {
    const [here, there] = await both();
    const tries = Array.from({ length: 30 }, (_, at) => put(at % 2 ? here : there, randomUUID()));
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(4);
    expect(statuses.filter((status) => status === 409)).toHaveLength(26);
    const more = Array.from({ length: 30 }, (_, at) =>
      put(at % 2 ? here : there, randomUUID(), content({ kind: 'recovery' })),
    );
    expect((await Promise.all(more)).filter(({ status }) => status === 201)).toHaveLength(12);
    expect(await ids(here)).toHaveLength(16);
  });

  it('replace a slot once when both have the same If-Match', async () => {
    const [here, there] = await both();
    const [id = ''] = await filled(here, ['password']);
    const { updatedAt } = await slotAt(here, id);
    const tries = Array.from({ length: 20 }, (_, at) =>
      put(at % 2 ? here : there, id).set('If-Match', `"${updatedAt}"`),
    );
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 412)).toHaveLength(19);
  });
});

describe('a deleted workspace', () => {
  it('is purged with its slots', async () => {
    const workspace = await vault();
    await filled(workspace, ['password', 'recovery']);
    await workspace.user.delete(workspace.path).expect(200);
    await workspace.user.get(`${workspace.path}/key-slots`).expect(404);
    await put(workspace, randomUUID()).expect(404);
    await service.app.get(WorkspacePurge).finish();
    await eventually(async () => {
      const [row] = await service.database.query<{ slots: number }>(
        'SELECT count(*)::int AS slots FROM key_slots WHERE workspace_id = $1',
        [workspace.id],
      );
      expect(row).toEqual({ slots: 0 });
    });
  });
});
