import { randomBytes } from 'node:crypto';
import {
  decryptContent,
  DecryptionError,
  deriveVaultKeys,
  encryptContent,
  encryptPath,
  newMasterKey,
  type VaultKeys,
} from '../../../client/src/core/index.js';
import { opened, sealed } from '../../../client/src/folder/envelope-stream.js';

let keys: VaultKeys;
let path: string;
beforeAll(async () => {
  keys = await deriveVaultKeys(newMasterKey());
  path = encryptPath(keys, 'film.mov');
});

// oxlint-disable-next-line typescript/require-await
async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function whole(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

describe('an envelope as a stream', () => {
  it.each([0, 1, 15, 16, 17, 60, 61, 1_000, 100_003])('matches one in memory: %i bytes', async (length) => {
    const content = randomBytes(length);
    for (const size of [1, 7, 44, 45, 46, 64 * 1024].filter((one) => length / one < 2_000)) {
      const envelope = await whole(sealed(keys, path, pieces(content, size)));
      expect(envelope).toHaveLength(length + 61);
      expect(content.equals(await decryptContent(keys, path, envelope))).toBe(true);
      const other = await encryptContent(keys, path, content);
      expect(content.equals(await whole(opened(keys, path, pieces(other, size))))).toBe(true);
    }
  });

  it('has its own salt and nonce', async () => {
    const content = randomBytes(100);
    const made = [1, 2].map(() => whole(sealed(keys, path, pieces(content, 10))));
    const [one, other] = await Promise.all(made);
    expect(one!.subarray(1, 45)).not.toEqual(other!.subarray(1, 45));
  });

  it('ends with an error when it was altered anywhere, cut anywhere, or made for another path', async () => {
    const envelope = await whole(sealed(keys, path, pieces(randomBytes(40), 10)));
    const opening = (bytes: Uint8Array, at = path) => whole(opened(keys, at, pieces(bytes, 9)));
    for (let index = 0; index < envelope.length; index++) {
      const altered = Buffer.from(envelope);
      altered[index]! ^= 1;
      await expect(opening(altered)).rejects.toThrow(DecryptionError);
      await expect(opening(envelope.subarray(0, index))).rejects.toThrow(DecryptionError);
    }
    await expect(opening(Buffer.concat([envelope, Buffer.of(0)]))).rejects.toThrow(DecryptionError);
    await expect(opening(envelope, encryptPath(keys, 'other.mov'))).rejects.toThrow(DecryptionError);
    await expect(opening(envelope)).resolves.toHaveLength(40);
  });
});
