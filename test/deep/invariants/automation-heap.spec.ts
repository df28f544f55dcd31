import { hkdfSync, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TestVault } from '../../kit/automation.js';
import { eventually } from '../../kit/index.js';
import { type OwnProcess, startOwnProcess } from '../../kit/own-process.js';
import { unbundled } from '../../kit/process.js';

/** Enough requests for young garbage to be collected. */
const REQUESTS = 100;

const word = (): string => randomBytes(12).toString('hex');

/** A text of a note, and words of it that must be nowhere once the session has ended. */
const TEXT = { first: `first${word()}`, rare: `Seltenes${word()}`, path: `geheim ${word()}` };
const PASSWORD = `password ${word()}`;

describe('the memory of the service', () => {
  let own: OwnProcess;
  let vault: TestVault;

  beforeAll(async () => {
    const NODE_OPTIONS = '--heapsnapshot-signal=SIGUSR2';
    own = await startOwnProcess({ NODE_OPTIONS }, unbundled);
    vault = await TestVault.setUp(await own.alice.workspace(), PASSWORD);
  });
  afterAll(() => own.end());

  it('holds no key and no text of a note after the end of the key session, but the text before', async () => {
    const { body } = await vault.openSession({ password: PASSWORD }).expect(201);
    const session = vault.with(body.keySession);
    await vault.endSession().expect(200);
    await workWith(session);

    const live = await snapshot();
    expect(live).toEqual(expect.arrayContaining([...Object.values(TEXT), TEXT.rare.toLowerCase()])); // found

    await session.endSession().expect(200);
    expect(await snapshot()).toEqual([]);
  });

  it('holds no key soon after a request, not even in memory that awaits collection', async () => {
    const session = await vault.withNewSession();
    await workWith(session);
    const path = session.encryptedPath(`${TEXT.path}/note.md`);
    const envelope = (await session.workspace.get(path).expect(200)).body as Buffer;
    const keys = {
      ofEnvelope: Buffer.from(hkdfSync('sha256', session.subkeys.content, envelope.subarray(1, 33), '', 32)),
      master: session.masterKey,
      content: Buffer.from(session.subkeys.content),
      path: Buffer.from(session.subkeys.path.subarray(0, 32)),
      wrapping: Buffer.from(hkdfSync('sha256', session.keySession, '', 'key session', 32)),
    };
    const token = Buffer.from(session.workspace.user.token); // in each request: must be found
    // The answer may arrive before the request is over, and the cipher's copy is freed when it is collected.
    await eventually(async () => expect(await leftInMemory({ ...keys, token })).toEqual(['token']));
    await session.endSession().expect(200);
    await eventually(async () => expect(await leftInMemory(keys)).toEqual([]));
  });

  /** Uses every operation that puts plaintext into memory. */
  async function workWith(session: TestVault): Promise<void> {
    const path = `${TEXT.path}/note.md`;
    await session.remove(path);
    await session.workspace.delete(session.encryptedPath('other.md'));
    await session.create(path, `${TEXT.first} and ${TEXT.rare}ß`).expect(201);
    await session.upload('other.md', `${TEXT.first} ${TEXT.rare} of a client`);
    await session.update(path, `${TEXT.first} again ${TEXT.rare}`).expect(200);
    expect((await session.read(path).expect(200)).body.content).toContain(TEXT.rare);
    expect((await session.found(TEXT.first)).length).toBe(2);
    expect(await session.found(`${TEXT.rare} again`)).toEqual([path]);
    expect((await session.list({ prefix: TEXT.path })).length).toBe(1);
    const [newest] = (await session.history(path).expect(200)).body.versions;
    await session.history(path).query({ version: newest.versionId }).expect(200);
    await session.openSession({ key: session.masterKey.toString('base64') }).expect(201);
    await session.openSession({ password: `${PASSWORD}!` }).expect(403);
  }

  /** Which of the values are in the memory of the service after it has served other requests. */
  async function leftInMemory(values: Readonly<Record<string, Buffer>>): Promise<string[]> {
    for (let n = 0; n < REQUESTS; n++) await vault.workspace.user.get('/api/v1/auth/me').expect(200);
    return inMemory(own.service.child.pid!, values);
  }

  /** Which of the secrets are in the heap, after a collection. */
  async function snapshot(): Promise<string[]> {
    for (const old of await snapshots()) await rm(join(own.dataDir, old));
    own.service.child.kill('SIGUSR2');
    const file = await eventually(async () => {
      const [name = 'none yet'] = await snapshots();
      const path = join(own.dataDir, name);
      expect(await lastBytes(path, 2)).toBe(']}');
      return path;
    });
    // Writing it holds the service up, which then refuses requests for a moment.
    await eventually(() => vault.workspace.user.get('/api/v1/auth/me').expect(200));
    return secretsIn(file);
  }

  async function snapshots(): Promise<string[]> {
    return (await readdir(own.dataDir)).filter((name) => name.endsWith('.heapsnapshot'));
  }

  /** A snapshot cuts strings after 1,024 characters. */
  async function secretsIn(file: string): Promise<string[]> {
    const keys = [vault.masterKey, ...Object.values(vault.subkeys).map((key) => Buffer.from(key))];
    const spelt = keys.flatMap((key) =>
      (['latin1', 'hex', 'base64', 'base64url', 'utf16le'] as const).map((encoding) =>
        key.toString(encoding),
      ),
    );
    const words = [...Object.values(TEXT), TEXT.rare.toLowerCase(), PASSWORD, ...spelt];
    const wanted = new Map(words.map((secret) => [secret, escaped(secret)]));
    const found = new Set<string>();
    let tail = '';
    for await (const chunk of createReadStream(file, 'utf8') as AsyncIterable<string>) {
      const text = tail + chunk;
      for (const [secret, json] of wanted) if (text.includes(json)) found.add(secret);
      tail = text.slice(-4096);
    }
    return [...found];
  }
});

async function lastBytes(path: string, count: number): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read({ buffer: Buffer.alloc(count), position: Math.max(size - count, 0) });
    return buffer.toString();
  } finally {
    await file.close();
  }
}

/** A string as the file has it: JSON in ASCII. */
function escaped(text: string): string {
  const json = JSON.stringify(text).slice(1, -1);
  const code = (char: string): string => char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return json.replace(/[^\x20-\x7e]/g, (char) => `\\u${code(char)}`);
}

/** Which of the values are anywhere in the writable memory of a process (Linux). */
async function inMemory(pid: number, values: Readonly<Record<string, Buffer>>): Promise<string[]> {
  const maps = (await readFile(`/proc/${pid}/maps`, 'latin1')).matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm);
  const memory = await open(`/proc/${pid}/mem`);
  const found = new Set<string>();
  const piece = Buffer.alloc(16 * 1024 * 1024);
  for (const [, from = '', to = ''] of maps) {
    const end = parseInt(to, 16);
    // The pieces overlap, so that nothing is cut in two.
    for (let at = parseInt(from, 16); at < end; at += piece.length - 64) {
      const length = Math.min(piece.length, end - at);
      const { bytesRead } = await memory.read(piece, 0, length, at).catch(() => ({ bytesRead: 0 }));
      const read = piece.subarray(0, bytesRead);
      for (const [name, value] of Object.entries(values)) if (read.includes(value)) found.add(name);
    }
  }
  await memory.close();
  return [...found];
}
