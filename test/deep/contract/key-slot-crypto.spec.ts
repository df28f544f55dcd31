import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { argon2id as argon2idOfLibrary, pbkdf2 as pbkdf2OfLibrary, createSHA256 } from 'hash-wasm';
import { argon2idOfNode, argon2idOfWasm } from '../../../src/domain/automation/argon2id.js';
import {
  checkPasswordKdf,
  formatRecoveryKey,
  generateRecoveryKey,
  KdfRefused,
  makePasskeySlot,
  makePasswordSlot,
  makeRecoverySlot,
  newPasswordKdf,
  openPasskeySlot,
  openPasswordSlot,
  openRecoverySlot,
  parseRecoveryKey,
  type PasskeyKdf,
  type PasswordKdf,
  RecoveryKeyTypo,
} from '../../../src/domain/automation/key-slot-crypto.js';
import {
  DecryptionError,
  deriveVaultKeys,
  openEnvelope,
} from '../../../src/domain/automation/vault-crypto.js';
import { processMs, threadMs } from '../../kit/thread-time.js';

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
type PasskeySlot = StoredVector & { prfOutput: string; kdf: PasskeyKdf & Record<string, unknown> };

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

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
const fixed = (vector: SlotVector) => ({ salt: bytes(vector.salt), nonce: bytes(vector.nonce) });
const [firstPassword, firstRecovery, firstPasskey] = [
  vectors.passwordSlots[3]!,
  vectors.recoverySlots[0]!,
  vectors.passkeySlots[0]!,
];

/** Resources of Node.js that mean a derivation, in any thread; `begun` counts those of `derivationsOf`. */
const DERIVATIONS = new Set(['PBKDF2REQUEST', 'ARGON2REQUEST', 'SCRYPTREQUEST', 'WORKER']);
let begun = 0;
const counted = new AsyncLocalStorage<true>();
const counter = createHook({
  init: (_, type) => void (begun += DERIVATIONS.has(type) && counted.getStore() ? 1 : 0),
});
beforeAll(() => void counter.enable());
afterAll(() => void counter.disable());

async function derivationsOf(work: () => unknown): Promise<number> {
  const before = begun;
  await counted.run(true, work);
  return begun - before;
}

describe('the published vectors', () => {
  it.each(vectors.passwordSlots)('password slot: $note', async (vector) => {
    const { password, kdf, wrappedKey, masterKey } = vector;
    const made = await makePasswordSlot(vector, bytes(masterKey), password, kdf, fixed(vector));
    expect(made).toEqual({ kind: 'password', kdf, wrappedKey });
    expect((await openPasswordSlot(vector, vector, password)).toString('hex')).toBe(masterKey);
  });

  it.each(vectors.recoverySlots)('recovery slot: $note', (vector) => {
    const { text, kdf, wrappedKey, masterKey } = vector;
    const key = bytes(vector.recoveryKey);
    expect(formatRecoveryKey(key)).toBe(text);
    expect(parseRecoveryKey(text)).toEqual(key);
    const made = makeRecoverySlot(vector, bytes(masterKey), key, fixed(vector));
    expect(made).toEqual({ kind: 'recovery', kdf, wrappedKey });
    expect(openRecoverySlot(vector, vector, key).toString('hex')).toBe(masterKey);
  });

  it.each(vectors.passkeySlots)('passkey slot: $note', (vector) => {
    const { kdf, wrappedKey, masterKey } = vector;
    const prf = bytes(vector.prfOutput);
    const { credentialId, prfSalt } = kdf;
    const passkey = { credentialId, prfSalt };
    const made = makePasskeySlot(vector, bytes(masterKey), prf, passkey, fixed(vector));
    expect(made).toEqual({ kind: 'passkey', kdf, wrappedKey });
    expect(openPasskeySlot(vector, vector, prf).toString('hex')).toBe(masterKey);
  });

  it.each(vectors.recoveryKeys)('a recovery key typed: $note', ({ text, recoveryKey }) => {
    expect(parseRecoveryKey(text).toString('hex')).toBe(recoveryKey);
  });

  it.each(vectors.rejected.recoveryKeys)('a typing error in a recovery key: $note', ({ text }) => {
    expect(() => parseRecoveryKey(text)).toThrow(RecoveryKeyTypo);
  });

  it.each(vectors.rejected.passwordKdfs)(
    'refuses parameters of a password, before any work: $note',
    async ({ kdf, reason }) => {
      expect(() => checkPasswordKdf(kdf)).toThrow(KdfRefused);
      const refused = expect.objectContaining({ name: 'KdfRefused', reason }) as Error;
      const { masterKey } = firstPassword;
      const begun = await derivationsOf(async () => {
        await expect(openPasswordSlot(firstPassword, { ...firstPassword, kdf }, 'x')).rejects.toEqual(
          refused,
        );
        await expect(makePasswordSlot(firstPassword, bytes(masterKey), 'x', kdf)).rejects.toEqual(refused);
      });
      expect(begun).toBe(0);
    },
  );

  it.each(vectors.rejected.recoveryKdfs)('refuses parameters of a recovery key: $note', ({ kdf }) => {
    const key = bytes(firstRecovery.recoveryKey);
    expect(() => openRecoverySlot(firstRecovery, { ...firstRecovery, kdf }, key)).toThrow(KdfRefused);
  });

  it.each(vectors.rejected.passkeyKdfs)('refuses parameters of a passkey: $note', ({ kdf }) => {
    const prf = bytes(firstPasskey.prfOutput);
    expect(() => openPasskeySlot(firstPasskey, { ...firstPasskey, kdf }, prf)).toThrow(KdfRefused);
  });

  it.each(vectors.rejected.passwordSlots)('does not open a password slot: $note', async (vector) => {
    const begun = await derivationsOf(() =>
      expect(openPasswordSlot(vector, vector, vector.password)).rejects.toThrow(DecryptionError),
    );
    expect(begun).toBe(vector.beforeDerivation ? 0 : 1);
  });

  it.each(vectors.rejected.recoverySlots)('does not open a recovery slot: $note', (vector) => {
    expect(() => openRecoverySlot(vector, vector, bytes(vector.recoveryKey))).toThrow(DecryptionError);
  });

  it.each(vectors.rejected.passkeySlots)('does not open a passkey slot: $note', (vector) => {
    expect(() => openPasskeySlot(vector, vector, bytes(vector.prfOutput))).toThrow(DecryptionError);
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

  it('makes new slots with a new salt each, and parameters that every reader accepts', async () => {
    const [one, other] = [newPasswordKdf(), newPasswordKdf()];
    expect(checkPasswordKdf(one)).toBe(one);
    expect(one.name).toBe(argon2idOfNode ? 'argon2id' : 'pbkdf2-sha256');
    expect(one.salt).not.toBe(other.salt);
    const slot = await makePasswordSlot(place, master, 'a password');
    expect(slot.kdf).toEqual({ ...one, salt: expect.any(String) as string });
    expect(await openPasswordSlot(place, slot, 'a password')).toEqual(master);
  });

  it('never wraps a key into the same bytes twice', () => {
    const wrap = (): string => makeRecoverySlot(place, master, Buffer.alloc(32)).wrappedKey;
    expect(wrap()).not.toBe(wrap());
    expect(generateRecoveryKey()).not.toEqual(generateRecoveryKey());
  });

  it('opens no slot with a bit of the wrapped key flipped, in any byte', () => {
    const key = bytes(firstRecovery.recoveryKey);
    const wrapped = Buffer.from(firstRecovery.wrappedKey, 'base64');
    for (let bit = 0; bit < wrapped.length * 8; bit += 7) {
      const altered = Buffer.from(wrapped);
      altered[bit >> 3]! ^= 1 << (bit & 7);
      const slot = { ...firstRecovery, wrappedKey: altered.toString('base64') };
      expect(() => openRecoverySlot(firstRecovery, slot, key)).toThrow(DecryptionError);
    }
  });

  it('opens no slot as one of another kind', () => {
    const key = bytes(firstRecovery.recoveryKey);
    const asPasskey = { ...firstRecovery, kdf: firstPasskey.kdf };
    expect(() => openPasskeySlot(firstRecovery, asPasskey, key)).toThrow(DecryptionError);
    const vaultKeys = deriveVaultKeys(master);
    const wrapped = Buffer.from(firstRecovery.wrappedKey, 'base64');
    expect(() => openEnvelope(vaultKeys.content, wrapped, Buffer.alloc(0))).toThrow(DecryptionError);
  });

  it.each([
    ['a number', 93],
    ['null', null],
    ['a list', Array(93).fill(0)],
    ['an object that takes a gigabyte as a buffer', { length: 2 ** 30 }],
  ])('opens no slot whose wrapped key is %s, before any work', async (_, value) => {
    const slot = { kdf: firstPassword.kdf, wrappedKey: value as string };
    const allocate = jest.spyOn(Buffer, 'from');
    const begun = await derivationsOf(() =>
      expect(openPasswordSlot(place, slot, 'x')).rejects.toThrow(DecryptionError),
    );
    const { calls } = allocate.mock;
    allocate.mockRestore();
    expect([begun, calls.filter(([given]) => (given as unknown) === value)]).toEqual([0, []]);
  });

  it('refuses keys, passwords and places of the wrong shape, before any work', async () => {
    const ok = Buffer.alloc(32);
    const misplaced = [
      { ...place, slotId: 'x' },
      { ...place, workspaceId: place.workspaceId.toUpperCase() },
      { ...place, slotId: `${place.slotId}\n` },
    ];
    const begun = await derivationsOf(async () => {
      for (const length of [0, 31, 33]) {
        const wrong = Buffer.alloc(length);
        await expect(makePasswordSlot(place, wrong, 'x')).rejects.toThrow(RangeError);
        expect(() => makeRecoverySlot(place, wrong, ok)).toThrow(RangeError);
        expect(() => makeRecoverySlot(place, ok, wrong)).toThrow(RangeError);
        expect(() => openRecoverySlot(place, firstRecovery, wrong)).toThrow(RangeError);
        expect(() => makePasskeySlot(place, wrong, ok, firstPasskey.kdf)).toThrow(RangeError);
        expect(() => makePasskeySlot(place, ok, wrong, firstPasskey.kdf)).toThrow(RangeError);
        expect(() => openPasskeySlot(place, firstPasskey, wrong)).toThrow(RangeError);
        expect(() => formatRecoveryKey(wrong)).toThrow(RangeError);
      }
      await expect(makePasswordSlot(place, ok, '')).rejects.toThrow(RangeError);
      for (const wrong of misplaced) {
        await expect(makePasswordSlot(wrong, ok, 'x')).rejects.toThrow(RangeError);
        expect(() => makeRecoverySlot(wrong, ok, ok)).toThrow(RangeError);
      }
    });
    expect(begun).toBe(0);
    expect(() => makePasskeySlot(place, ok, ok, { credentialId: '', prfSalt: '' })).toThrow(KdfRefused);
  });

  it('does not change the caller’s master key and recovery key', async () => {
    const [given, recovery] = [Buffer.from(master), bytes(firstRecovery.recoveryKey)];
    await makePasswordSlot(place, given, 'x', cheap());
    makeRecoverySlot(place, given, recovery);
    expect([given, recovery]).toEqual([master, bytes(firstRecovery.recoveryKey)]);
  });
});

describe('recovery keys', () => {
  const { text, recoveryKey } = vectors.recoveryKeys[0]!;
  const characters = text.replaceAll('-', '');

  it('have a checksum that finds each wrong character and each swap of two neighbours', () => {
    for (let at = 0; at < characters.length; at++) {
      for (const wrong of '0123456789ABCDEFGHJKMNPQRSTVWXYZ') {
        if (wrong === characters[at]) continue;
        const typed = characters.slice(0, at) + wrong + characters.slice(at + 1);
        expect(() => parseRecoveryKey(typed)).toThrow(RecoveryKeyTypo);
      }
      const [one = '', other = ''] = characters.slice(at, at + 2);
      if (one === other || other === '') continue;
      const typed = characters.slice(0, at) + other + one + characters.slice(at + 2);
      expect(() => parseRecoveryKey(typed)).toThrow(RecoveryKeyTypo);
    }
  });

  it('are not repeated in errors, which say where or what is wrong', () => {
    const errorOf = (typed: string): string => {
      try {
        parseRecoveryKey(typed);
      } catch (error) {
        return (error as Error).message;
      }
      return 'none';
    };
    expect(errorOf(characters.slice(1))).toBe('a recovery key has 56 characters; this one has 55');
    expect(errorOf(`${characters.slice(0, 55)}*`)).toBe('group 8 has a character that no recovery key has');
    expect(errorOf(`U${characters.slice(1)}`)).toBe('group 1 has a character that no recovery key has');
    expect(errorOf(`${characters.slice(0, -1)}0`)).toMatch(/^a character of the recovery key is wrong/);
  });

  it('are written and read as by a second implementation, bit by bit', () => {
    for (let seed = 0; seed < 200; seed++) {
      const key = createHash('sha256').update(`recovery key ${seed}`).digest();
      const checksum = createHash('sha256').update('recovery-key').update(key).digest().subarray(0, 3);
      const bits = [...key, ...checksum].map((byte) => byte.toString(2).padStart(8, '0')).join('');
      const groups = (bits.match(/.{35}/g) ?? []).map((group) =>
        (group.match(/.{5}/g) ?? [])
          .map((five) => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.charAt(parseInt(five, 2)))
          .join(''),
      );
      expect(formatRecoveryKey(key)).toBe(groups.join('-'));
      expect(parseRecoveryKey(groups.join('-'))).toEqual(key);
    }
    expect(parseRecoveryKey(text).toString('hex')).toBe(recoveryKey);
  });
});

/*
 * A third implementation: hash-wasm for the passwords, Node's own HKDF, and the envelope written out. It shares no line
 * with the first.
 */
describe('an independent implementation', () => {
  const hkdf = (key: Buffer, salt: Buffer | string, info: string): Buffer =>
    Buffer.from(hkdfSync('sha256', key, salt, info, 32));

  function masterKeyIn(kek: Buffer, { workspaceId, slotId, wrappedKey }: StoredVector): string {
    const envelope = Buffer.from(wrappedKey, 'base64');
    const key = hkdf(hkdf(kek, '', 'key-slot'), envelope.subarray(1, 33), '');
    const cipher = createDecipheriv('aes-256-gcm', key, envelope.subarray(33, 45));
    cipher.setAAD(Buffer.from(['key-slot', workspaceId, slotId].join('|')));
    cipher.setAuthTag(envelope.subarray(77));
    return Buffer.concat([cipher.update(envelope.subarray(45, 77)), cipher.final()]).toString('hex');
  }

  async function kekOf(password: string, kdf: PasswordKdf): Promise<Buffer> {
    const common = { password: password.normalize('NFKC'), salt: bytes(kdf.salt), hashLength: 32 };
    if (kdf.name === 'pbkdf2-sha256') {
      const { iterations } = kdf;
      const sha256 = createSHA256();
      return bytes(await pbkdf2OfLibrary({ ...common, iterations, hashFunction: sha256, outputType: 'hex' }));
    }
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
    expect(kek.toString('hex')).toBe(vector.kek);
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
    { way: 'Node.js', derive: argon2idOfNode },
    { way: 'hash-wasm in a thread', derive: argon2idOfWasm },
  ];
  it.each(ways)('gives the same keys by $way', async ({ derive }) => {
    if (!derive) return; // a Node.js before 24.7
    for (const { password, kdf, kek } of argon2idSlots) {
      const input = { ...kdf, password: Buffer.from(password.normalize('NFKC')), salt: bytes(kdf.salt) };
      expect((await derive(input)).toString('hex')).toBe(kek);
    }
  });

  it.each(ways)('does not block the event loop by $way', async ({ derive }) => {
    if (!derive) return;
    const input = {
      memoryKiB: 65_536,
      passes: 3,
      lanes: 1,
      password: Buffer.from('x'),
      salt: Buffer.alloc(32),
    };
    const [own, all] = [threadMs(), processMs()];
    await derive(input);
    // The share of this thread in the processor time: close to 1 where it derives the key itself.
    expect((threadMs() - own) / (processMs() - all)).toBeLessThan(0.5);
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
