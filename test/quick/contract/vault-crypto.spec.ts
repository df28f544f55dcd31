import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  DecryptionError,
  ENVELOPE_OVERHEAD,
  InvalidPathError,
  MAX_ASSET_TOKEN,
  MAX_ENCRYPTED_PATH,
  type VaultKeys,
  contentHash,
  decryptAsset,
  decryptAssetName,
  decryptContent,
  decryptLabel,
  decryptPath,
  deriveMasterKey,
  deriveVaultKeys,
  encryptAsset,
  encryptAssetName,
  encryptContent,
  encryptLabel,
  encryptPath,
  normalizePath,
  verificationHash,
} from '../../../src/domain/automation/vault-crypto.js';

interface Vectors {
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
  contents: (SealedVector & { encryptedPath: string; contentHash: string })[];
  labels: {
    vault: string;
    note: string;
    salt: string;
    nonce: string;
    label: string;
    encryptedLabel: string;
  }[];
  assetNames: { vault: string; note: string; name: string; normalized?: string; token: string }[];
  assets: SealedVector[];
  rejected: {
    plaintextPaths: { note: string; path: string }[];
    paths: { vault: string; note: string; encryptedPath: string; error: string }[];
    contents: { vault: string; note: string; encryptedPath: string; envelope: string }[];
    labels: { vault: string; note: string; encryptedLabel: string }[];
  };
}

interface SealedVector {
  vault: string;
  note: string;
  salt: string;
  nonce: string;
  plaintext: string;
  envelope: string;
}

const vectors = JSON.parse(
  readFileSync(new URL('../../kit/vectors/vault-crypto.json', import.meta.url), 'utf8'),
) as Vectors;

const bytes = (hex: string) => Buffer.from(hex, 'hex');
const fixed = (vector: { salt: string; nonce: string }) => ({
  salt: bytes(vector.salt),
  nonce: bytes(vector.nonce),
});
const keysOf = (id: string) => {
  const vault = vectors.vaults.find((candidate) => candidate.id === id);
  if (!vault) throw new Error(`no vault ${id} in the vectors`);
  return deriveVaultKeys(bytes(vault.masterKey));
};

describe('the published vectors', () => {
  it.each(vectors.vaults)('keys of vault $id: $note', async (vault) => {
    const master = await deriveMasterKey(vault.password, vault.encryptionSalt);
    expect(master.toString('hex')).toBe(vault.masterKey);
    const keys = Object.entries(deriveVaultKeys(master)) as [keyof VaultKeys, Buffer][];
    expect(Object.fromEntries(keys.map(([name, key]) => [name, key.toString('hex')]))).toEqual(vault.keys);
    expect(verificationHash(master, vault.verificationSalt)).toBe(vault.verificationHash);
    expect(verificationHash(master, vault.verificationSalt.toUpperCase())).toBe(vault.verificationHash);
  });

  it.each(vectors.paths)('path: $note', ({ vault, path, normalized, encryptedPath }) => {
    expect(encryptPath(keysOf(vault), path)).toBe(encryptedPath);
    expect(decryptPath(keysOf(vault), encryptedPath)).toBe(normalized ?? path);
  });

  it.each(vectors.contents)('content: $note', (vector) => {
    const { vault, encryptedPath, plaintext, envelope } = vector;
    const sealed = encryptContent(keysOf(vault), encryptedPath, bytes(plaintext), fixed(vector));
    expect(sealed.toString('hex')).toBe(envelope);
    expect(contentHash(sealed)).toBe(vector.contentHash);
    expect(decryptContent(keysOf(vault), encryptedPath, bytes(envelope)).toString('hex')).toBe(plaintext);
  });

  it.each(vectors.labels)('label: $note', (vector) => {
    expect(encryptLabel(keysOf(vector.vault), vector.label, fixed(vector))).toBe(vector.encryptedLabel);
    expect(decryptLabel(keysOf(vector.vault), vector.encryptedLabel)).toBe(vector.label);
  });

  it.each(vectors.assetNames)('asset name: $note', ({ vault, name, normalized, token }) => {
    expect(encryptAssetName(keysOf(vault), name)).toBe(token);
    expect(decryptAssetName(keysOf(vault), token)).toBe(normalized ?? name);
  });

  it.each(vectors.assets)('asset: $note', (vector) => {
    const sealed = encryptAsset(keysOf(vector.vault), bytes(vector.plaintext), fixed(vector));
    expect(sealed.toString('hex')).toBe(vector.envelope);
    expect(decryptAsset(keysOf(vector.vault), bytes(vector.envelope)).toString('hex')).toBe(vector.plaintext);
  });

  it.each(vectors.rejected.plaintextPaths)('refuses a path: $note', ({ path }) => {
    expect(() => encryptPath(keysOf('ascii'), path)).toThrow(InvalidPathError);
  });

  it.each(vectors.rejected.paths)('does not open a path: $note', ({ vault, encryptedPath, error }) => {
    expect(() => decryptPath(keysOf(vault), encryptedPath)).toThrow(
      error === 'InvalidPathError' ? InvalidPathError : DecryptionError,
    );
  });

  it.each(vectors.rejected.contents)(
    'does not open a content: $note',
    ({ vault, encryptedPath, envelope }) => {
      expect(() => decryptContent(keysOf(vault), encryptedPath, bytes(envelope))).toThrow(DecryptionError);
    },
  );

  it.each(vectors.rejected.labels)('does not open a label: $note', ({ vault, encryptedLabel }) => {
    expect(() => decryptLabel(keysOf(vault), encryptedLabel)).toThrow(DecryptionError);
  });
});

describe('properties that vectors cannot show', () => {
  const keys = keysOf('ascii');
  const path = encryptPath(keys, 'a.md');

  it('never seals the same bytes into the same envelope', () => {
    const text = Buffer.from('the same');
    const seal = [
      () => encryptContent(keys, path, text).toString('hex'),
      () => encryptAsset(keys, text).toString('hex'),
      () => encryptLabel(keys, 'the same'),
    ];
    for (const once of seal) expect(once()).not.toBe(once());
  });

  it('opens no envelope under the key of another purpose', () => {
    const asset = encryptAsset(keys, Buffer.from('x'));
    expect(() => decryptLabel(keys, asset.toString('base64'))).toThrow(DecryptionError);
    expect(() => decryptContent(keys, path, asset)).toThrow(DecryptionError);
    expect(() => decryptAssetName(keys, path)).toThrow(DecryptionError);
  });

  it('opens no envelope with any one bit flipped', () => {
    const envelope = encryptContent(keys, path, Buffer.from('note'));
    for (let bit = 0; bit < envelope.length * 8; bit++) {
      const altered = Buffer.from(envelope);
      altered[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => decryptContent(keys, path, altered)).toThrow(DecryptionError);
    }
  });

  it('does not accept a plaintext path as an encrypted one', () => {
    expect(() => encryptContent(keys, 'notes/a.md', Buffer.from('x'))).toThrow(InvalidPathError);
    expect(() => decryptContent(keys, '', encryptContent(keys, path, Buffer.from('x')))).toThrow(
      InvalidPathError,
    );
  });

  it('refuses half a surrogate pair, which UTF-8 would replace', () => {
    expect(() => normalizePath('a\ud800')).toThrow(InvalidPathError);
    expect(() => normalizePath('\udc00a')).toThrow(InvalidPathError);
    expect(normalizePath('a\ud83d\ude00')).toBe('a😀');
  });

  it('holds names up to the limits of the service', () => {
    expect(encryptPath(keys, 'é'.repeat(1528))).toHaveLength(MAX_ENCRYPTED_PATH);
    expect(encryptAssetName(keys, 'x'.repeat(752))).toHaveLength(MAX_ASSET_TOKEN);
    expect(() => encryptAssetName(keys, 'x'.repeat(753))).toThrow(InvalidPathError);
  });

  it('refuses keys and salts of the wrong shape', async () => {
    await expect(deriveMasterKey('x', '00'.repeat(31))).rejects.toThrow(RangeError);
    await expect(deriveMasterKey('x', 'zz'.repeat(32))).rejects.toThrow(RangeError);
    expect(() => deriveVaultKeys(Buffer.alloc(31))).toThrow(RangeError);
    expect(() => verificationHash(Buffer.alloc(33), '00'.repeat(32))).toThrow(RangeError);
    expect(() => verificationHash(Buffer.alloc(32), '')).toThrow(RangeError);
    expect(() =>
      encryptAsset(keys, Buffer.alloc(1), { salt: Buffer.alloc(31), nonce: Buffer.alloc(12) }),
    ).toThrow(RangeError);
  });
});

/*
 * A second implementation, written from RFC 4493, 5297 and 5869 over AES-ECB, AES-CTR, AES-GCM and HMAC alone.
 * It shares no line with the first, so a misunderstanding shows as a difference.
 */
const xor = (a: Buffer, b: Buffer) => Buffer.from(a.map((byte, i) => byte ^ (b[i] ?? 0)));

function block(key: Buffer, input: Buffer): Buffer {
  const cipher = createCipheriv(`aes-${key.length * 8}-ecb`, key, null).setAutoPadding(false);
  return Buffer.concat([cipher.update(input), cipher.final()]);
}

function double(input: Buffer): Buffer {
  const shifted = ((BigInt(`0x${input.toString('hex')}`) << 1n) & ((1n << 128n) - 1n)).toString(16);
  const output = bytes(shifted.padStart(32, '0'));
  if (input[0]! & 0x80) output[15]! ^= 0x87;
  return output;
}

function cmac(key: Buffer, message: Buffer): Buffer {
  const k1 = double(block(key, Buffer.alloc(16)));
  const whole = message.length > 0 && message.length % 16 === 0;
  const padded = whole ? message : Buffer.concat([message, Buffer.of(0x80), Buffer.alloc(15)]);
  const blocks = Math.max(1, Math.ceil(message.length / 16));
  let mac: Buffer = Buffer.alloc(16);
  for (let i = 0; i < blocks; i++) {
    let input = padded.subarray(i * 16, i * 16 + 16);
    if (i === blocks - 1) input = xor(input, whole ? k1 : double(k1));
    mac = block(key, xor(mac, input));
  }
  return mac;
}

function sivEncrypt(key: Buffer, plaintext: Buffer, ...associated: Buffer[]): Buffer {
  const half = key.length / 2;
  const [macKey, ctrKey] = [key.subarray(0, half), key.subarray(half)];
  let d = cmac(macKey, Buffer.alloc(16));
  for (const data of associated) d = xor(double(d), cmac(macKey, data));
  const end =
    plaintext.length >= 16
      ? Buffer.concat([plaintext.subarray(0, -16), xor(plaintext.subarray(-16), d)])
      : xor(double(d), Buffer.concat([plaintext, Buffer.of(0x80), Buffer.alloc(15)]).subarray(0, 16));
  const iv = cmac(macKey, end);
  const counter = xor(iv, bytes('00000000000000008000000080000000'));
  counter[8] = iv[8]! & 0x7f;
  counter[12] = iv[12]! & 0x7f;
  return Buffer.concat([iv, createCipheriv(`aes-${half * 8}-ctr`, ctrKey, counter).update(plaintext)]);
}

function hkdf(key: Buffer, salt: Buffer, info: string, length: number): Buffer {
  const prk = createHmac('sha256', salt.length > 0 ? salt : Buffer.alloc(32))
    .update(key)
    .digest();
  let last: Buffer = Buffer.alloc(0);
  let output: Buffer = Buffer.alloc(0);
  for (let i = 1; output.length < length; i++) {
    last = createHmac('sha256', prk).update(last).update(info).update(Buffer.of(i)).digest();
    output = Buffer.concat([output, last]);
  }
  return output.subarray(0, length);
}

function openEnvelope(subkey: Buffer, envelope: Buffer, associated: string): Buffer {
  expect(envelope[0]).toBe(1);
  const key = hkdf(subkey, envelope.subarray(1, 33), '', 32);
  const cipher = createDecipheriv('aes-256-gcm', key, envelope.subarray(33, 45));
  cipher.setAAD(Buffer.from(associated));
  cipher.setAuthTag(envelope.subarray(envelope.length - 16));
  return Buffer.concat([cipher.update(envelope.subarray(45, envelope.length - 16)), cipher.final()]);
}

/** Bytes that look random and are the same in every run, so that a failure can be repeated. */
function pseudorandom(seed: string, length: number): Buffer {
  const output = Buffer.alloc(length);
  for (let at = 0; at < length; at += 32)
    createHash('sha256').update(`${seed} ${at}`).digest().copy(output, at);
  return output;
}

describe('an independent implementation', () => {
  it('matches RFC 5297, appendix A', () => {
    const deterministic = sivEncrypt(
      bytes('fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'),
      bytes('112233445566778899aabbccddee'),
      bytes('101112131415161718191a1b1c1d1e1f2021222324252627'),
    );
    expect(deterministic.toString('hex')).toBe(
      '85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c',
    );
    const nonceBased = sivEncrypt(
      bytes('7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f'),
      Buffer.from('this is some plaintext to encrypt using SIV-AES'),
      bytes('00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100'),
      bytes('102030405060708090a0'),
      bytes('09f911029d74e35bd84156c5635688c0'),
    );
    expect(nonceBased.toString('hex')).toBe(
      '7bdb6e3b432667eb06f4d14bff2fbd0fcb900f2fddbe404326601965c889bf17' +
        'dba77ceb094fa663b7a3f748ba8af829ea64ad544a272e9c485b62a3fd5c0d',
    );
  });

  it.each(vectors.vaults)('derives the keys of vault $id', ({ masterKey, keys, ...vault }) => {
    const master = bytes(masterKey);
    const derive = (info: string, length: number) =>
      hkdf(master, Buffer.alloc(0), info, length).toString('hex');
    expect(keys).toEqual({
      path: derive('path', 64),
      content: derive('content', 32),
      label: derive('label', 32),
      assetName: derive('asset-name', 64),
      asset: derive('asset', 32),
    });
    const verification = hkdf(master, bytes(vault.verificationSalt), 'verification', 32);
    expect(createHash('sha256').update(verification).digest('hex')).toBe(vault.verificationHash);
  });

  it('encrypts names of every length like the client', () => {
    for (let length = 1; length <= 200; length++) {
      const keys = deriveVaultKeys(pseudorandom(`master ${length}`, 32));
      const name = pseudorandom(`name ${length}`, length).toString('base64url').slice(0, length);
      expect(encryptPath(keys, name)).toBe(sivEncrypt(keys.path, Buffer.from(name)).toString('base64url'));
      const token = sivEncrypt(keys.assetName, Buffer.from(name)).toString('base64url');
      expect(decryptAssetName(keys, token)).toBe(name);
    }
  });

  it('opens envelopes of the client of every length', () => {
    for (let length = 0; length <= 200; length++) {
      const keys = deriveVaultKeys(pseudorandom(`master ${length}`, 32));
      const plaintext = pseudorandom(`plaintext ${length}`, length);
      const path = encryptPath(keys, `${length}.md`);
      const content = encryptContent(keys, path, plaintext);
      expect(content).toHaveLength(length + ENVELOPE_OVERHEAD);
      expect(openEnvelope(keys.content, content, path).equals(plaintext)).toBe(true);
      expect(openEnvelope(keys.asset, encryptAsset(keys, plaintext), '').equals(plaintext)).toBe(true);
      const label = encryptLabel(keys, plaintext.toString('hex'));
      expect(openEnvelope(keys.label, Buffer.from(label, 'base64'), '').toString()).toBe(
        plaintext.toString('hex'),
      );
    }
  });
});
