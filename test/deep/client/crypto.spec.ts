import { readFileSync } from 'node:fs';
import {
  checkPasswordKdf,
  contentHash,
  decryptAsset,
  decryptAssetName,
  decryptContent,
  decryptLabel,
  decryptPath,
  DecryptionError,
  deriveMasterKey,
  deriveSubkeys,
  deriveVaultKeys,
  encryptAsset,
  encryptAssetName,
  encryptContent,
  encryptLabel,
  encryptPath,
  formatRecoveryKey,
  fromBase64,
  fromBase64url,
  generateRecoveryKey,
  InvalidPathError,
  KdfRefused,
  makePasskeySlot,
  makePasswordSlot,
  makeRecoverySlot,
  MAX_ASSET_TOKEN,
  MAX_ENCRYPTED_PATH,
  newPasswordKdf,
  openPasskeySlot,
  openPasswordSlot,
  openRecoverySlot,
  parseRecoveryKey,
  type PasswordKdf,
  RecoveryKeyTypo,
  toBase64,
  toBase64url,
  toHex,
  type VaultKeys,
  verificationHash,
} from '../../../crypto/src/index.js';
import * as service from '../../../src/domain/automation/vault-crypto.js';

interface Sealed {
  vault: string;
  note: string;
  salt: string;
  nonce: string;
}

interface VaultVectors {
  vaults: {
    id: string;
    note: string;
    password: string;
    encryptionSalt: string;
    masterKey: string;
    keys: Record<keyof VaultKeys, string>;
    verificationSalt: string;
    verificationHash: string;
  }[];
  paths: { vault: string; note: string; path: string; normalized?: string; encryptedPath: string }[];
  contents: (Sealed & { plaintext: string; envelope: string; encryptedPath: string; contentHash: string })[];
  labels: (Sealed & { label: string; encryptedLabel: string })[];
  assetNames: { vault: string; note: string; name: string; normalized?: string; token: string }[];
  assets: (Sealed & { plaintext: string; envelope: string })[];
  rejected: {
    plaintextPaths: { note: string; path: string }[];
    paths: { vault: string; note: string; encryptedPath: string; error: string }[];
    contents: { vault: string; note: string; encryptedPath: string; envelope: string }[];
    labels: { vault: string; note: string; encryptedLabel: string }[];
  };
}

interface Stored {
  note: string;
  workspaceId: string;
  slotId: string;
  wrappedKey: string;
}

interface Slot extends Stored {
  salt: string;
  nonce: string;
  masterKey: string;
}

type PasswordSlot = Stored & { password: string; kdf: PasswordKdf };
type RecoverySlot = Stored & { recoveryKey: string; kdf: Record<string, unknown> };
type PasskeySlot = Stored & { prfOutput: string; kdf: { credentialId: string; prfSalt: string } };

interface SlotVectors {
  passwordSlots: (PasswordSlot & Slot)[];
  recoverySlots: (RecoverySlot & Slot & { text: string })[];
  passkeySlots: (PasskeySlot & Slot)[];
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

const vectorsOf = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../kit/vectors/${name}.json`, import.meta.url), 'utf8'));
const vectors = vectorsOf('vault-crypto') as VaultVectors;
const slots = vectorsOf('key-slots') as SlotVectors;

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const fixed = ({ salt, nonce }: { salt: string; nonce: string }) => ({
  salt: bytes(salt),
  nonce: bytes(nonce),
});
const masterOf = (id: string) => bytes(vectors.vaults.find((vault) => vault.id === id)!.masterKey);
const keysOf = (id: string): Promise<VaultKeys> => deriveVaultKeys(masterOf(id));

/** Counts the password derivations that `work` begins, by WebCrypto and WebAssembly. */
async function derivationsOf(work: () => unknown): Promise<number> {
  const pbkdf2 = jest.spyOn(crypto.subtle, 'deriveBits');
  const argon2 = jest.spyOn(WebAssembly, 'instantiate');
  try {
    await work();
    const slow = pbkdf2.mock.calls.filter(([algorithm]) => (algorithm as { name: string }).name === 'PBKDF2');
    return slow.length + argon2.mock.calls.length;
  } finally {
    pbkdf2.mockRestore();
    argon2.mockRestore();
  }
}

describe('the published vectors of a vault', () => {
  it.each(vectors.vaults)('keys of vault $id: $note', async (vault) => {
    const master = await deriveMasterKey(vault.password, vault.encryptionSalt);
    expect(toHex(master)).toBe(vault.masterKey);
    const keys = Object.entries(await deriveSubkeys(master)).map(([name, key]) => [name, toHex(key)]);
    expect(Object.fromEntries(keys)).toEqual(vault.keys);
    expect(await verificationHash(master, vault.verificationSalt)).toBe(vault.verificationHash);
    expect(await verificationHash(master, vault.verificationSalt.toUpperCase())).toBe(vault.verificationHash);
  });

  it.each(vectors.paths)('path: $note', async ({ vault, path, normalized, encryptedPath }) => {
    const keys = await keysOf(vault);
    expect(encryptPath(keys, path)).toBe(encryptedPath);
    expect(decryptPath(keys, encryptedPath)).toBe(normalized ?? path);
  });

  it.each(vectors.contents)('content: $note', async (vector) => {
    const { encryptedPath, plaintext, envelope } = vector;
    const keys = await keysOf(vector.vault);
    const sealed = await encryptContent(keys, encryptedPath, bytes(plaintext), fixed(vector));
    expect(toHex(sealed)).toBe(envelope);
    expect(await contentHash(sealed)).toBe(vector.contentHash);
    expect(toHex(await decryptContent(keys, encryptedPath, bytes(envelope)))).toBe(plaintext);
  });

  it.each(vectors.labels)('label: $note', async (vector) => {
    const keys = await keysOf(vector.vault);
    expect(await encryptLabel(keys, vector.label, fixed(vector))).toBe(vector.encryptedLabel);
    expect(await decryptLabel(keys, vector.encryptedLabel)).toBe(vector.label);
  });

  it.each(vectors.assetNames)('asset name: $note', async ({ vault, name, normalized, token }) => {
    const keys = await keysOf(vault);
    expect(encryptAssetName(keys, name)).toBe(token);
    expect(decryptAssetName(keys, token)).toBe(normalized ?? name);
  });

  it.each(vectors.assets)('asset: $note', async (vector) => {
    const keys = await keysOf(vector.vault);
    expect(toHex(await encryptAsset(keys, bytes(vector.plaintext), fixed(vector)))).toBe(vector.envelope);
    expect(toHex(await decryptAsset(keys, bytes(vector.envelope)))).toBe(vector.plaintext);
  });

  it.each(vectors.rejected.plaintextPaths)('refuses a path: $note', async ({ path }) => {
    const keys = await keysOf('ascii');
    expect(() => encryptPath(keys, path)).toThrow(InvalidPathError);
  });

  it.each(vectors.rejected.paths)('does not open a path: $note', async ({ vault, encryptedPath, error }) => {
    const keys = await keysOf(vault);
    const expected = error === 'InvalidPathError' ? InvalidPathError : DecryptionError;
    expect(() => decryptPath(keys, encryptedPath)).toThrow(expected);
  });

  it.each(vectors.rejected.contents)('does not open a content: $note', async (vector) => {
    const opening = decryptContent(await keysOf(vector.vault), vector.encryptedPath, bytes(vector.envelope));
    await expect(opening).rejects.toThrow(DecryptionError);
  });

  it.each(vectors.rejected.labels)('does not open a label: $note', async ({ vault, encryptedLabel }) => {
    await expect(decryptLabel(await keysOf(vault), encryptedLabel)).rejects.toThrow(DecryptionError);
  });
});

describe('the published vectors of key slots', () => {
  it.each(slots.passwordSlots)('password slot: $note', async (vector) => {
    const { password, kdf, wrappedKey, masterKey } = vector;
    const made = await makePasswordSlot(vector, bytes(masterKey), password, kdf, fixed(vector));
    expect(made).toEqual({ kind: 'password', kdf, wrappedKey });
    expect(toHex(await openPasswordSlot(vector, vector, password))).toBe(masterKey);
  });

  it.each(slots.recoverySlots)('recovery slot: $note', async (vector) => {
    const { text, kdf, wrappedKey, masterKey } = vector;
    const key = bytes(vector.recoveryKey);
    expect(await formatRecoveryKey(key)).toBe(text);
    const made = await makeRecoverySlot(vector, bytes(masterKey), key, fixed(vector));
    expect(made).toEqual({ kind: 'recovery', kdf, wrappedKey });
    expect(toHex(await openRecoverySlot(vector, vector, key))).toBe(masterKey);
  });

  it.each(slots.passkeySlots)('passkey slot: $note', async (vector) => {
    const { kdf, wrappedKey, masterKey } = vector;
    const prf = bytes(vector.prfOutput);
    const made = await makePasskeySlot(vector, bytes(masterKey), prf, kdf, fixed(vector));
    expect(made).toEqual({ kind: 'passkey', kdf, wrappedKey });
    expect(toHex(await openPasskeySlot(vector, vector, prf))).toBe(masterKey);
  });

  it.each(slots.recoveryKeys)('a recovery key typed: $note', async ({ text, recoveryKey }) => {
    expect(toHex(await parseRecoveryKey(text))).toBe(recoveryKey);
  });

  it.each(slots.rejected.recoveryKeys)('a typing error in a recovery key: $note', async ({ text }) => {
    await expect(parseRecoveryKey(text)).rejects.toThrow(RecoveryKeyTypo);
  });

  it.each(slots.rejected.passwordKdfs)(
    'refuses parameters of a password before any derivation: $note',
    async ({ kdf, reason }) => {
      const slot = slots.passwordSlots[0]!;
      const refused = expect.objectContaining({ name: 'KdfRefused', reason }) as Error;
      expect(() => checkPasswordKdf(kdf)).toThrow(KdfRefused);
      const begun = await derivationsOf(async () => {
        await expect(openPasswordSlot(slot, { ...slot, kdf }, 'x')).rejects.toEqual(refused);
        await expect(makePasswordSlot(slot, bytes(slot.masterKey), 'x', kdf)).rejects.toEqual(refused);
      });
      expect(begun).toBe(0);
    },
  );

  it.each(slots.rejected.recoveryKdfs)('refuses parameters of a recovery key: $note', async ({ kdf }) => {
    const slot = slots.recoverySlots[0]!;
    const opening = openRecoverySlot(slot, { ...slot, kdf }, bytes(slot.recoveryKey));
    await expect(opening).rejects.toThrow(KdfRefused);
  });

  it.each(slots.rejected.passkeyKdfs)('refuses parameters of a passkey: $note', async ({ kdf }) => {
    const slot = slots.passkeySlots[0]!;
    const opening = openPasskeySlot(slot, { ...slot, kdf }, bytes(slot.prfOutput));
    await expect(opening).rejects.toThrow(KdfRefused);
  });

  it.each(slots.rejected.passwordSlots)('does not open a password slot: $note', async (vector) => {
    const begun = await derivationsOf(() =>
      expect(openPasswordSlot(vector, vector, vector.password)).rejects.toThrow(DecryptionError),
    );
    expect(begun > 0).toBe(!vector.beforeDerivation);
  });

  it.each(slots.rejected.recoverySlots)('does not open a recovery slot: $note', async (vector) => {
    const opening = openRecoverySlot(vector, vector, bytes(vector.recoveryKey));
    await expect(opening).rejects.toThrow(DecryptionError);
  });

  it.each(slots.rejected.passkeySlots)('does not open a passkey slot: $note', async (vector) => {
    const opening = openPasskeySlot(vector, vector, bytes(vector.prfOutput));
    await expect(opening).rejects.toThrow(DecryptionError);
  });
});

describe('properties that vectors cannot show', () => {
  it('creates each slot with a new salt and parameters that every reader accepts', async () => {
    const slot = slots.passwordSlots[0]!;
    for (const name of ['argon2id', 'pbkdf2-sha256'] as const) {
      const [one, other] = [newPasswordKdf(name), newPasswordKdf(name)];
      expect(one.salt).not.toBe(other.salt);
      const made = await makePasswordSlot(slot, bytes(slot.masterKey), 'a password', one);
      expect(toHex(await openPasswordSlot(slot, made, 'a password'))).toBe(slot.masterKey);
    }
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

  it('never encrypts the same content to the same envelope', async () => {
    const keys = await keysOf('ascii');
    const path = encryptPath(keys, 'a.md');
    const seal = async () => toHex(await encryptContent(keys, path, bytes('00')));
    expect(await seal()).not.toBe(await seal());
    expect(generateRecoveryKey()).not.toEqual(generateRecoveryKey());
  });

  it('decrypts what the service encrypts and vice versa, at any length', async () => {
    const [keys, theirs] = [await keysOf('ascii'), service.deriveVaultKeys(masterOf('ascii'))];
    for (let length = 0; length < 70; length++) {
      const plain = Uint8Array.from({ length }, (_, at) => (at * 7 + length) % 256);
      const name = `${'n'.repeat(length)}.md`;
      const path = encryptPath(keys, name);
      expect(service.decryptPath(theirs, path)).toBe(name);
      const sealed = await encryptContent(keys, path, plain);
      expect(new Uint8Array(service.decryptContent(theirs, path, sealed))).toEqual(plain);
      const theirEnvelope = service.encryptAsset(theirs, plain);
      expect(await decryptAsset(keys, theirEnvelope)).toEqual(plain);
    }
  });

  it('accepts no plaintext path as the path of a content', async () => {
    const keys = await keysOf('ascii');
    await expect(encryptContent(keys, 'a note.md', bytes('00'))).rejects.toThrow(InvalidPathError);
    await expect(decryptContent(keys, '', bytes('00'))).rejects.toThrow(InvalidPathError);
  });

  it('accepts names up to the limits of the service', async () => {
    const keys = await keysOf('ascii');
    expect(encryptPath(keys, 'é'.repeat(1528))).toHaveLength(MAX_ENCRYPTED_PATH);
    expect(() => encryptPath(keys, 'é'.repeat(1529))).toThrow(InvalidPathError);
    expect(encryptAssetName(keys, 'x'.repeat(752))).toHaveLength(MAX_ASSET_TOKEN);
    expect(() => encryptAssetName(keys, 'x'.repeat(753))).toThrow(InvalidPathError);
  });

  it('decodes only canonical base64, and only text', () => {
    for (let length = 0; length < 20; length++) {
      const some = Uint8Array.from({ length }, (_, at) => 255 - at * 9);
      expect(fromBase64(toBase64(some))).toEqual(some);
      expect(fromBase64url(toBase64url(some))).toEqual(some);
    }
    for (const wrong of [
      'A',
      'AB',
      'QQ===',
      'QQ',
      'QR==',
      'QQ==\n',
      ' QQ==',
      'QQ=',
      '-_==',
      undefined,
      null,
      7,
      {},
      ['QQ=='],
    ])
      expect(() => fromBase64(wrong)).toThrow(DecryptionError);
    for (const wrong of ['QQ==', 'QR', 'Q', '+/', '\u{1d7d8}', 8, []])
      expect(() => fromBase64url(wrong)).toThrow(DecryptionError);
  });

  it('refuses keys and salts of the wrong shape', async () => {
    await expect(deriveMasterKey('x', '00'.repeat(31))).rejects.toThrow(RangeError);
    await expect(deriveMasterKey('x', 'zz'.repeat(32))).rejects.toThrow(RangeError);
    await expect(deriveVaultKeys(new Uint8Array(31))).rejects.toThrow(RangeError);
    await expect(verificationHash(new Uint8Array(33), '00'.repeat(32))).rejects.toThrow(RangeError);
    await expect(verificationHash(new Uint8Array(32), '')).rejects.toThrow(RangeError);
    const place = slots.recoverySlots[0]!;
    for (const wrong of [new Uint8Array(31), new Uint8Array(33)]) {
      await expect(makeRecoverySlot(place, wrong, new Uint8Array(32))).rejects.toThrow(RangeError);
      await expect(makeRecoverySlot(place, new Uint8Array(32), wrong)).rejects.toThrow(RangeError);
      await expect(formatRecoveryKey(wrong)).rejects.toThrow(RangeError);
    }
    await expect(makePasswordSlot(place, new Uint8Array(32), '')).rejects.toThrow(RangeError);
    const elsewhere = { ...place, workspaceId: place.workspaceId.toUpperCase() };
    await expect(makeRecoverySlot(elsewhere, new Uint8Array(32), new Uint8Array(32))).rejects.toThrow(
      RangeError,
    );
    await expect(openRecoverySlot(elsewhere, place, new Uint8Array(32))).rejects.toThrow(DecryptionError);
  });
});
