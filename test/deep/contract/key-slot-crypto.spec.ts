import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { argon2id as argon2idOfLibrary, pbkdf2 as pbkdf2OfLibrary, createSHA256 } from 'hash-wasm';
import {
  checkKdf,
  checkPasswordKdf,
  decryptAsset,
  DecryptionError,
  deriveVaultKeys,
  formatRecoveryKey,
  fromBase64,
  generateRecoveryKey,
  isWrappedKey,
  KdfRefused,
  makePasskeySlot,
  makePasswordSlot,
  makeRecoverySlot,
  newPasswordKdf,
  openPasskeySlot,
  openPasswordSlot,
  openRecoverySlot,
  parseRecoveryKey,
  type Passkey,
  type PasswordKdf,
  RecoveryKeyTypo,
  toBase64,
  toHex,
} from '../../../crypto/src/index.js';
import { argon2idOfNode, argon2idOfWasm } from '../../../src/domain/automation/argon2id.js';
import { PRIMITIVES } from '../../../src/domain/automation/wipeable-keys.js';

interface StoredVector {
  note: string;
  workspaceId: string;
  slotId: string;
  wrappedKey: string;
}

interface SlotVector extends StoredVector {
  kek: string;
  salt: string;
  nonce: string;
  masterKey: string;
}

type PasswordSlot = StoredVector & { password: string; kdf: PasswordKdf };
type RecoverySlot = StoredVector & { recoveryKey: string; kdf: { name: 'hkdf-sha256' } };
type PasskeySlot = StoredVector & { prfOutput: string; kdf: Passkey & Record<string, unknown> };

interface Vectors {
  passwordSlots: (PasswordSlot & SlotVector)[];
  recoverySlots: (RecoverySlot & SlotVector & { text: string })[];
  passkeySlots: (PasskeySlot & SlotVector)[];
  recoveryKeys: { note: string; text: string; recoveryKey: string }[];
  rejected: {
    passwordKdfs: { note: string; kdf: PasswordKdf; reason: string }[];
    recoveryKdfs: { note: string; kdf: Record<string, unknown> }[];
    passkeyKdfs: { note: string; kdf: Record<string, unknown> }[];
    passwordSlots: (PasswordSlot & { beforeDerivation: boolean })[];
    recoverySlots: RecoverySlot[];
    passkeySlots: PasskeySlot[];
    recoveryKeys: { note: string; text: string }[];
  };
}

const vectors = JSON.parse(
  readFileSync(new URL('../../kit/vectors/key-slots.json', import.meta.url), 'utf8'),
) as Vectors;

const bytes = (hex: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(hex, 'hex'));
const fixed = (vector: SlotVector) => ({ salt: bytes(vector.salt), nonce: bytes(vector.nonce) });
const [firstPassword, firstRecovery, firstPasskey] = [
  vectors.passwordSlots[3]!,
  vectors.recoverySlots[0]!,
  vectors.passkeySlots[0]!,
];

/** The two sets of derivations: the default, and the one that the service passes in. */
const WAYS = [
  { way: 'by WebCrypto and hash-wasm', by: undefined },
  { way: 'by the service', by: PRIMITIVES },
];

/** Resources of Node.js that mean a derivation off the event loop. */
const DERIVING = new Set(['PBKDF2REQUEST', 'ARGON2REQUEST', 'SCRYPTREQUEST', 'WORKER']);
const BY_WASM = 'WebAssembly in this thread';
const begun: string[] = [];
const counted = new AsyncLocalStorage<true>();
const counter = createHook({
  init: (_, type) => void (DERIVING.has(type) && counted.getStore() && begun.push(type)),
});
beforeAll(() => void counter.enable());
afterAll(() => void counter.disable());

/** The algorithm of each derivation that `work` begins. A derivation by WebAssembly may be listed more than once. */
async function derivationsOf(work: () => unknown): Promise<string[]> {
  const argon2 = jest.spyOn(WebAssembly, 'instantiate');
  try {
    await counted.run(true, work);
    return [...begun.splice(0), ...argon2.mock.calls.map(() => BY_WASM)];
  } finally {
    argon2.mockRestore();
  }
}

/** Whether a promise settles before the event loop turns, as it does after work that blocks it. */
async function isSettledAlready(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  void promise.finally(() => (isSettled = true));
  for (let microtasks = 0; microtasks < 100; microtasks++) await Promise.resolve();
  return isSettled;
}

describe('the published vectors', () => {
  it.each(vectors.passwordSlots)('password slot: $note', async (vector) => {
    const { password, kdf, wrappedKey, masterKey } = vector;
    const made = await makePasswordSlot(vector, bytes(masterKey), password, kdf, fixed(vector));
    expect(made).toEqual({ kind: 'password', kdf, wrappedKey });
    for (const { by } of WAYS)
      expect(toHex(await openPasswordSlot(vector, vector, password, by))).toBe(masterKey);
  });

  it.each(vectors.recoverySlots)('recovery slot: $note', async (vector) => {
    const { text, kdf, wrappedKey, masterKey } = vector;
    const key = bytes(vector.recoveryKey);
    expect(await formatRecoveryKey(key)).toBe(text);
    expect(await parseRecoveryKey(text)).toEqual(key);
    const made = await makeRecoverySlot(vector, bytes(masterKey), key, fixed(vector));
    expect(made).toEqual({ kind: 'recovery', kdf, wrappedKey });
    for (const { by } of WAYS) expect(toHex(await openRecoverySlot(vector, vector, key, by))).toBe(masterKey);
  });

  it.each(vectors.passkeySlots)('passkey slot: $note', async (vector) => {
    const { kdf, wrappedKey, masterKey } = vector;
    const prf = bytes(vector.prfOutput);
    const made = await makePasskeySlot(vector, bytes(masterKey), prf, kdf, fixed(vector));
    expect(made).toEqual({ kind: 'passkey', kdf, wrappedKey });
    expect(toHex(await openPasskeySlot(vector, vector, prf))).toBe(masterKey);
  });

  it.each(vectors.recoveryKeys)('a recovery key typed: $note', async ({ text, recoveryKey }) => {
    expect(toHex(await parseRecoveryKey(text))).toBe(recoveryKey);
  });

  it.each(vectors.rejected.recoveryKeys)('a typing error in a recovery key: $note', async ({ text }) => {
    await expect(parseRecoveryKey(text)).rejects.toThrow(RecoveryKeyTypo);
  });

  it.each(vectors.rejected.passwordKdfs)(
    'refuses parameters of a password before any derivation: $note',
    async ({ kdf, reason }) => {
      expect(() => checkPasswordKdf(kdf)).toThrow(KdfRefused);
      expect(() => checkKdf('password', kdf)).toThrow(KdfRefused);
      const refused = expect.objectContaining({ name: 'KdfRefused', reason }) as Error;
      const { masterKey } = firstPassword;
      const begun = await derivationsOf(async () => {
        for (const { by } of WAYS)
          await expect(openPasswordSlot(firstPassword, { ...firstPassword, kdf }, 'x', by)).rejects.toEqual(
            refused,
          );
        await expect(makePasswordSlot(firstPassword, bytes(masterKey), 'x', kdf)).rejects.toEqual(refused);
      });
      expect(begun).toEqual([]);
    },
  );

  it.each(vectors.rejected.recoveryKdfs)('refuses parameters of a recovery key: $note', async ({ kdf }) => {
    const opening = openRecoverySlot(
      firstRecovery,
      { ...firstRecovery, kdf },
      bytes(firstRecovery.recoveryKey),
    );
    await expect(opening).rejects.toThrow(KdfRefused);
    expect(() => checkKdf('recovery', kdf)).toThrow(KdfRefused);
  });

  it.each(vectors.rejected.passkeyKdfs)('refuses parameters of a passkey: $note', async ({ kdf }) => {
    const opening = openPasskeySlot(firstPasskey, { ...firstPasskey, kdf }, bytes(firstPasskey.prfOutput));
    await expect(opening).rejects.toThrow(KdfRefused);
    expect(() => checkKdf('passkey', kdf)).toThrow(KdfRefused);
  });

  it.each(vectors.rejected.passwordSlots)('does not open a password slot: $note', async (vector) => {
    for (const { by } of WAYS) {
      const begun = await derivationsOf(() =>
        expect(openPasswordSlot(vector, vector, vector.password, by)).rejects.toThrow(DecryptionError),
      );
      if (by) expect(begun).toHaveLength(vector.beforeDerivation ? 0 : 1);
      else expect(begun.length > 0).toBe(!vector.beforeDerivation);
    }
  });

  it.each(vectors.rejected.recoverySlots)('does not open a recovery slot: $note', async (vector) => {
    for (const { by } of WAYS) {
      const opening = openRecoverySlot(vector, vector, bytes(vector.recoveryKey), by);
      await expect(opening).rejects.toThrow(DecryptionError);
    }
  });

  it.each(vectors.rejected.passkeySlots)('does not open a passkey slot: $note', async (vector) => {
    const opening = openPasskeySlot(vector, vector, bytes(vector.prfOutput));
    await expect(opening).rejects.toThrow(DecryptionError);
  });
});

describe('properties that vectors cannot show', () => {
  const place = firstPassword;
  const master = bytes(firstPassword.masterKey);
  const cheap = (): PasswordKdf => ({
    ...newPasswordKdf(),
    ...firstPassword.kdf,
    salt: newPasswordKdf().salt,
  });

  it('creates each slot with a new salt and parameters that every reader accepts', async () => {
    for (const name of ['argon2id', 'pbkdf2-sha256'] as const) {
      const [one, other] = [newPasswordKdf(name), newPasswordKdf(name)];
      expect(checkPasswordKdf(one)).toBe(one);
      expect(one.salt).not.toBe(other.salt);
      const slot = await makePasswordSlot(place, master, 'a password', one);
      for (const { by } of WAYS)
        expect(await openPasswordSlot(place, slot, 'a password', by)).toEqual(master);
    }
    const slot = await makePasswordSlot(place, master, 'a password');
    expect(slot.kdf).toEqual({ ...newPasswordKdf(), salt: expect.any(String) as string });
    expect(isWrappedKey(slot.wrappedKey)).toBe(true);
  });

  it('uses PBKDF2 for a new slot where WebAssembly is forbidden', () => {
    const forbidden = jest.spyOn(WebAssembly, 'Module').mockImplementation(() => {
      throw new WebAssembly.CompileError('the policy of the page forbids it');
    });
    try {
      expect(newPasswordKdf()).toMatchObject({ name: 'pbkdf2-sha256', iterations: 1_000_000 });
    } finally {
      forbidden.mockRestore();
    }
    expect(newPasswordKdf()).toMatchObject({ name: 'argon2id', memoryKiB: 65_536, passes: 3, lanes: 1 });
  });

  it('never wraps a key into the same bytes twice', async () => {
    const wrap = async (): Promise<string> =>
      (await makeRecoverySlot(place, master, new Uint8Array(32))).wrappedKey;
    expect(await wrap()).not.toBe(await wrap());
    expect(generateRecoveryKey()).not.toEqual(generateRecoveryKey());
  });

  it('opens no slot with a bit of the wrapped key flipped, in any byte', async () => {
    const key = bytes(firstRecovery.recoveryKey);
    const wrapped = fromBase64(firstRecovery.wrappedKey);
    for (let bit = 0; bit < wrapped.length * 8; bit += 7) {
      const altered = Uint8Array.from(wrapped);
      altered[bit >> 3]! ^= 1 << (bit & 7);
      const slot = { ...firstRecovery, wrappedKey: toBase64(altered) };
      await expect(openRecoverySlot(firstRecovery, slot, key)).rejects.toThrow(DecryptionError);
    }
  });

  it('opens no slot as one of another kind', async () => {
    const key = bytes(firstRecovery.recoveryKey);
    const asPasskey = { ...firstRecovery, kdf: firstPasskey.kdf };
    await expect(openPasskeySlot(firstRecovery, asPasskey, key)).rejects.toThrow(DecryptionError);
    const { content } = await deriveVaultKeys(master);
    const asAsset = { ...(await deriveVaultKeys(master)), asset: content };
    await expect(decryptAsset(asAsset, fromBase64(firstRecovery.wrappedKey))).rejects.toThrow(
      DecryptionError,
    );
  });

  it.each([
    ['a number', 93],
    ['null', null],
    ['a list', Array(93).fill(0)],
    ['an object that takes a gigabyte as a buffer', { length: 2 ** 30 }],
  ])('opens no slot whose wrapped key is %s, before any work', async (_, value) => {
    const slot = { kdf: firstPassword.kdf, wrappedKey: value };
    const allocations = [jest.spyOn(Buffer, 'from'), jest.spyOn(Uint8Array, 'from')];
    const begun = await derivationsOf(() =>
      expect(openPasswordSlot(place, slot, 'x')).rejects.toThrow(DecryptionError),
    );
    const calls = allocations.flatMap(({ mock }) => mock.calls as unknown[][]);
    for (const allocation of allocations) allocation.mockRestore();
    expect([begun, calls.filter(([given]) => given === value)]).toEqual([[], []]);
    expect(isWrappedKey(value)).toBe(false);
  });

  it('refuses keys, passwords and places of the wrong shape, before any work', async () => {
    const ok = new Uint8Array(32);
    const misplaced = [
      { ...place, slotId: 'x' },
      { ...place, workspaceId: place.workspaceId.toUpperCase() },
      { ...place, slotId: `${place.slotId}\n` },
    ];
    const refusals = async (making: Promise<unknown>): Promise<void> =>
      expect(making).rejects.toThrow(RangeError);
    const begun = await derivationsOf(async () => {
      for (const length of [0, 31, 33]) {
        const wrong = new Uint8Array(length);
        await refusals(makePasswordSlot(place, wrong, 'x'));
        await refusals(makeRecoverySlot(place, wrong, ok));
        await refusals(makeRecoverySlot(place, ok, wrong));
        await refusals(openRecoverySlot(place, firstRecovery, wrong));
        await refusals(makePasskeySlot(place, wrong, ok, firstPasskey.kdf));
        await refusals(makePasskeySlot(place, ok, wrong, firstPasskey.kdf));
        await refusals(openPasskeySlot(place, firstPasskey, wrong));
        await refusals(formatRecoveryKey(wrong));
      }
      await refusals(makePasswordSlot(place, ok, ''));
      for (const wrong of misplaced) {
        await refusals(makePasswordSlot(wrong, ok, 'x'));
        await refusals(makeRecoverySlot(wrong, ok, ok));
        await expect(openRecoverySlot(wrong, firstRecovery, ok)).rejects.toThrow(DecryptionError);
      }
    });
    expect(begun).toEqual([]);
    const malformed = makePasskeySlot(place, ok, ok, { credentialId: '', prfSalt: '' });
    await expect(malformed).rejects.toThrow(KdfRefused);
  });

  it('does not change the caller’s master key and recovery key', async () => {
    const [given, recovery] = [Uint8Array.from(master), bytes(firstRecovery.recoveryKey)];
    await makePasswordSlot(place, given, 'x', cheap());
    const slot = await makeRecoverySlot(place, given, recovery);
    for (const { by } of WAYS) await openRecoverySlot(place, slot, recovery, by);
    expect([given, recovery]).toEqual([master, bytes(firstRecovery.recoveryKey)]);
  });

  it('wipes the keys in between that were derived for it', async () => {
    const derived: Uint8Array[] = [];
    const kept = <T extends Uint8Array>(key: T): T => {
      derived.push(key);
      return key;
    };
    const by: typeof PRIMITIVES = {
      hkdf: async (key, parameters) => kept(await PRIMITIVES.hkdf(key, parameters)),
      pbkdf2: async (...input) => kept(await PRIMITIVES.pbkdf2(...input)),
      argon2id: async (input) => kept(await PRIMITIVES.argon2id(input)),
      aead: PRIMITIVES.aead,
    };
    const argon2idSlot = vectors.passwordSlots.find(({ kdf }) => kdf.name === 'argon2id')!;
    await openPasswordSlot(argon2idSlot, argon2idSlot, argon2idSlot.password, by);
    await openRecoverySlot(firstRecovery, firstRecovery, bytes(firstRecovery.recoveryKey), by);
    expect(derived.map(toHex)).toEqual(Array(6).fill('00'.repeat(32)));
  });
});

describe('recovery keys', () => {
  const { text, recoveryKey } = vectors.recoveryKeys[0]!;
  const characters = text.replaceAll('-', '');

  it('have a checksum that finds each wrong character and each swap of two neighbours', async () => {
    for (let at = 0; at < characters.length; at++) {
      for (const wrong of '0123456789ABCDEFGHJKMNPQRSTVWXYZ') {
        if (wrong === characters[at]) continue;
        const typed = characters.slice(0, at) + wrong + characters.slice(at + 1);
        await expect(parseRecoveryKey(typed)).rejects.toThrow(RecoveryKeyTypo);
      }
      const [one = '', other = ''] = characters.slice(at, at + 2);
      if (one === other || other === '') continue;
      const typed = characters.slice(0, at) + other + one + characters.slice(at + 2);
      await expect(parseRecoveryKey(typed)).rejects.toThrow(RecoveryKeyTypo);
    }
  });

  it('are not repeated in errors, which say where or what is wrong', async () => {
    const errorOf = (typed: string): Promise<string> =>
      parseRecoveryKey(typed).then(
        () => 'none',
        (error: unknown) => (error as Error).message,
      );
    expect(await errorOf(characters.slice(1))).toBe('a recovery key has 56 characters; this one has 55');
    const other = 'has a character that no recovery key has';
    expect(await errorOf(`${characters.slice(0, 55)}*`)).toBe(`group 8 ${other}`);
    expect(await errorOf(`U${characters.slice(1)}`)).toBe(`group 1 ${other}`);
    expect(await errorOf(`${characters.slice(0, -1)}0`)).toMatch(/^a character of the recovery key is wrong/);
  });

  it('are written and read as by a second implementation, bit by bit', async () => {
    for (let seed = 0; seed < 200; seed++) {
      const key = bytes(createHash('sha256').update(`recovery key ${seed}`).digest('hex'));
      const checksum = createHash('sha256').update('recovery-key').update(key).digest().subarray(0, 3);
      const bits = [...key, ...checksum].map((byte) => byte.toString(2).padStart(8, '0')).join('');
      const groups = (bits.match(/.{35}/g) ?? []).map((group) =>
        (group.match(/.{5}/g) ?? [])
          .map((five) => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.charAt(parseInt(five, 2)))
          .join(''),
      );
      expect(await formatRecoveryKey(key)).toBe(groups.join('-'));
      expect(await parseRecoveryKey(groups.join('-'))).toEqual(key);
    }
    expect(toHex(await parseRecoveryKey(text))).toBe(recoveryKey);
  });
});

/*
 * Another implementation: Node's own Argon2id and HKDF, PBKDF2 of hash-wasm, and the envelope written out. It shares no line
 * with the first, except hash-wasm for Argon2id where Node.js lacks it.
 */
describe('an independent implementation', () => {
  const hkdf = (key: Uint8Array, salt: Uint8Array | string, info: string): Buffer =>
    Buffer.from(hkdfSync('sha256', key, salt, info, 32));

  function masterKeyIn(kek: Uint8Array, { workspaceId, slotId, wrappedKey }: StoredVector): string {
    const envelope = Buffer.from(wrappedKey, 'base64');
    const key = hkdf(hkdf(kek, '', 'key-slot'), envelope.subarray(1, 33), '');
    const cipher = createDecipheriv('aes-256-gcm', key, envelope.subarray(33, 45));
    cipher.setAAD(Buffer.from(['key-slot', workspaceId, slotId].join('|')));
    cipher.setAuthTag(envelope.subarray(77));
    return Buffer.concat([cipher.update(envelope.subarray(45, 77)), cipher.final()]).toString('hex');
  }

  async function kekOf(password: string, kdf: PasswordKdf): Promise<Uint8Array> {
    const common = { password: password.normalize('NFKC'), salt: bytes(kdf.salt), hashLength: 32 };
    if (kdf.name === 'pbkdf2-sha256') {
      const { iterations } = kdf;
      const sha256 = createSHA256();
      return bytes(await pbkdf2OfLibrary({ ...common, iterations, hashFunction: sha256, outputType: 'hex' }));
    }
    if (argon2idOfNode) return argon2idOfNode({ ...kdf, ...common, password: Buffer.from(common.password) });
    const { memoryKiB: memorySize, passes: iterations, lanes: parallelism } = kdf;
    const cost = { memorySize, iterations, parallelism };
    return bytes(await argon2idOfLibrary({ ...common, ...cost, outputType: 'hex' }));
  }

  // The library takes seconds for PBKDF2.
  const affordable = vectors.passwordSlots.filter(
    ({ kdf, note }) => kdf.name === 'argon2id' || note.includes('typed in its normal form'),
  );
  it.each(affordable)('opens the password slot: $note', async (vector) => {
    const kek = await kekOf(vector.password, vector.kdf);
    expect(toHex(kek)).toBe(vector.kek);
    expect(masterKeyIn(kek, vector)).toBe(vector.masterKey);
  });

  it('opens the recovery and the passkey slots', () => {
    for (const vector of vectors.recoverySlots) {
      const kek = hkdf(bytes(vector.recoveryKey), vector.workspaceId, 'recovery');
      expect([kek.toString('hex'), masterKeyIn(kek, vector)]).toEqual([vector.kek, vector.masterKey]);
    }
    for (const vector of vectors.passkeySlots) {
      const kek = hkdf(bytes(vector.prfOutput), vector.workspaceId, 'passkey');
      expect([kek.toString('hex'), masterKeyIn(kek, vector)]).toEqual([vector.kek, vector.masterKey]);
    }
  });
});

describe('Argon2id', () => {
  const argon2idSlots = vectors.passwordSlots.flatMap(({ note, password, kdf, kek }) =>
    kdf.name === 'argon2id' ? [{ note, password, kdf, kek }] : [],
  );
  const ways = [
    { way: 'Node.js', derive: argon2idOfNode, by: 'ARGON2REQUEST' },
    { way: 'hash-wasm in a thread', derive: argon2idOfWasm, by: 'WORKER' },
  ];
  it.each(ways)('gives the same keys by $way', async ({ derive }) => {
    if (!derive) return; // a Node.js before 24.7
    for (const { password, kdf, kek } of argon2idSlots) {
      const input = { ...kdf, password: Buffer.from(password.normalize('NFKC')), salt: bytes(kdf.salt) };
      expect(toHex(await derive(input))).toBe(kek);
    }
  });

  it.each(ways)('does not block the event loop by $way', async ({ derive, by }) => {
    if (!derive) return;
    const { password, kdf } = argon2idSlots[0]!;
    const input = { ...kdf, password: Buffer.from(password), salt: bytes(kdf.salt) };
    const begun = await derivationsOf(async () => {
      const deriving = derive(input);
      expect(await isSettledAlready(deriving)).toBe(false);
      await deriving;
    });
    expect(begun).toEqual([by]);
  });

  it('fails when its thread fails', async () => {
    const impossible = {
      memoryKiB: 1,
      passes: 0,
      lanes: 1,
      password: Buffer.alloc(0),
      salt: Buffer.alloc(0),
    };
    await expect(argon2idOfWasm(impossible)).rejects.toThrow();
  });
});
