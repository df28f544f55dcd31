import fc from 'fast-check';
import { open, readdir, stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { LargeNotes } from '../../../src/domain/automation/large-notes.js';
import { GrowingBytes } from '../../../src/domain/automation/note-answer.js';
import { NoteScanner } from '../../../src/domain/automation/note-bodies.js';
import { ENVELOPE_OVERHEAD } from '../../../crypto/src/index.js';
import { InFlightRequests, PayloadTooLarge } from '../../../src/platform/http/index.js';
import type { WaitingClients } from '../../../src/platform/http/waiting-clients.js';
import type { FairSemaphore } from '../../../src/platform/limits/index.js';
import { TestVault } from '../../kit/automation.js';
import { eventually, startService, type TestService } from '../../kit/index.js';
import { holdTimers } from '../../kit/held-timers.js';
import { answerOf, headOf, openSocket, received } from '../../kit/raw-http.js';
import { itDeep } from '../../kit/rounds.js';

const MIB = 1024 * 1024;

/** The bytes of a body in chunked encoding, which `answerOf` reads as latin1. */
function chunksOf(body: string): Buffer {
  const bytes = Buffer.from(body, 'latin1');
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const from = bytes.indexOf('\r\n', at) + 2;
    const size = parseInt(bytes.toString('latin1', at, from), 16);
    chunks.push(bytes.subarray(from, from + size));
    at = from + size + 2;
  }
  return Buffer.concat(chunks);
}

describe('a body that is decoded in pieces', () => {
  const scanned = (body: Buffer, cuts: number[]): { members: unknown; content: string } => {
    const scanner = new NoteScanner(10 * MIB);
    const ends = [...cuts.map((cut) => cut % (body.length + 1)), body.length].sort((a, b) => a - b);
    let from = 0;
    for (const end of ends) {
      scanner.feed(body.subarray(from, end));
      from = end;
    }
    const { members, content } = scanner.end();
    return { members, content: content.toString('utf8') };
  };

  const text = fc.string({ unit: 'binary' });
  const other = fc.json({ maxDepth: 2 }).filter((json) => !/__proto__|constructor|prototype/.test(json));

  /** Writes some characters as JSON escapes. */
  const spelt = (value: string, choose: () => number): string =>
    value.replace(/[^]/g, (unit) => {
      const code = unit.charCodeAt(0).toString(16).padStart(4, '0');
      return choose() < 0.3
        ? `\\u${choose() < 0.5 ? code : code.toUpperCase()}`
        : JSON.stringify(unit).slice(1, -1);
    });

  it.each([0, 1, 2, 3])(
    'keeps each character at the ends of its blocks, and wipes all blocks (%d bytes before)',
    (shift) => {
      const bytes = new GrowingBytes(MIB);
      const plain = Buffer.from('abc€'.repeat(5_000));
      let expected = plain.toString('utf8', 0, shift);
      bytes.append(plain, 0, shift);
      for (let n = 0; n < 30_000; n++) {
        const character = n % 2 ? '€' : '𝄞';
        bytes.appendCharacter(character);
        expected += character;
      }
      bytes.append(plain, 0, plain.length);
      expected += plain.toString();
      expect(bytes.size).toBe(Buffer.byteLength(expected));
      expect(bytes.whole().toString()).toBe(expected);
      bytes.append(plain, 0, 3);
      bytes.wipe();
      expect(bytes.whole()).toEqual(Buffer.alloc(Buffer.byteLength(expected) + 3));
      expect(() => bytes.append(Buffer.alloc(MIB), 0, MIB)).toThrow(PayloadTooLarge);
    },
  );

  it('decodes to the same text as JSON.parse, wherever it is cut', () => {
    fc.assert(
      fc.property(
        text,
        text,
        other,
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        fc.boolean(),
        (path, content, more, cuts, stream, isFirst) => {
          const choose = (): number => stream.next().value as number;
          const inside = `"content" :\t"${spelt(content, choose)}"`;
          const rest = `"path":"${spelt(path, choose)}","other":{"content":${more}}`;
          const body = `{${isFirst ? `${inside},${rest}` : `${rest}, ${inside}`}}`;
          const parsed = JSON.parse(body) as Record<string, unknown>;
          const { members, content: decoded } = scanned(Buffer.from(body), cuts);
          expect(decoded).toBe(content);
          expect(members).toEqual({ ...parsed, content: '' });
        },
      ),
      { numRuns: 500, seed: 1 },
    );
  });

  it('is refused where JSON.parse refuses it', () => {
    const body = fc.mixedCase(fc.constant('{"path":"a","content":"x\\n\\u00e9"}'));
    const broken = fc.tuple(
      body,
      fc.nat(),
      fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '\n', 'u', '0'),
    );
    fc.assert(
      fc.property(broken, ([whole, place, put]) => {
        const at = place % whole.length;
        const spoilt = whole.slice(0, at) + put + whole.slice(at + 1);
        let parsed: Record<string, unknown> | undefined;
        try {
          parsed = JSON.parse(spoilt) as Record<string, unknown>;
        } catch {
          parsed = undefined;
        }
        if (typeof parsed?.content === 'string')
          expect(scanned(Buffer.from(spoilt), []).content).toBe(parsed.content);
        else expect(() => scanned(Buffer.from(spoilt), [])).toThrow();
      }),
      { numRuns: 1000, seed: 1 },
    );
  });
});

describe('large notes', () => {
  let service: TestService;
  let vault: TestVault;
  let other: TestVault;
  beforeAll(async () => {
    service = await startService({ env: { LOG_LEVEL: 'silent' } });
    vault = await TestVault.setUp(await (await service.user('alice')).workspace());
    other = await TestVault.setUp(await (await service.user('bob')).workspace());
    for (const whose of [vault, other]) await whose.create('0.md', 'x'.repeat(8 * MIB)).expect(201);
  });
  afterAll(() => service.close());

  const headers = (length: number, whose = vault): Record<string, string> => ({
    Host: 'localhost',
    Connection: 'close',
    Authorization: `Bearer ${whose.workspace.user.token}`,
    'X-Key-Session': whose.keySession,
    'Content-Length': String(length),
  });

  /** Sends all of a note but its last byte. */
  function begin(path: string, whose = vault): { socket: Socket; finish: () => Promise<number> } {
    const body = Buffer.from(JSON.stringify({ path, content: 'y'.repeat(2 * MIB) }));
    const socket = openSocket(service.url);
    socket.write(headOf('POST', `${whose.path}/notes`, headers(body.length, whose)));
    socket.write(body.subarray(0, -1));
    const answer = received(socket);
    const finish = async (): Promise<number> => {
      socket.write(body.subarray(-1));
      return answerOf(await answer).status;
    };
    return { socket, finish };
  }

  const slots = (): FairSemaphore => {
    const gate: unknown = service.app.get(LargeNotes, { strict: false });
    return (gate as { slots: FairSemaphore }).slots;
  };

  /** Number of free slots. */
  const free = (): number => 3 - slots().taken;

  const waiting = (): WaitingClients => service.app.get(InFlightRequests).waiting;

  itDeep('hold no slot while their clients are silent, and are written when the rest arrives', async () => {
    const begun = ['a.md', 'b.md', 'c.md', 'd.md'].flatMap((path) => [begin(path), begin(path, other)]);
    await eventually(() => expect(waiting().heldBytes).toBeGreaterThan(8 * 2 * MIB));
    await eventually(() => expect([waiting().unsentBodies, free()]).toEqual([8, 3]));
    await other.create('k.md', 'z'.repeat(2 * MIB)).expect(201);
    await other.read('k.md').expect(200);
    expect(await Promise.all(begun.map(({ finish }) => finish()))).toEqual(Array(8).fill(201));
    await eventually(() => expect([free(), slots().owners, waiting().heldBytes]).toEqual([3, 0, 0]));
  });

  it('are written three at a time: the next one waits, small notes do not', async () => {
    const timers = holdTimers(10_000, 10_000); // the wait for a slot
    const held = [await slots().take('a'), await slots().take('a'), await slots().take('b')];
    const next = begin('e.md').finish();
    await eventually(() => expect(slots().queued).toBe(1));
    await vault.create('small.md', 'x').expect(201);
    expect((await vault.read('small.md').expect(200)).body.content).toBe('x');
    for (const release of held) release();
    timers.release();
    expect(await next).toBe(201);
    await eventually(() => expect(free()).toBe(3));
  });

  it('hold neither slot nor bytes once the client disconnects in the middle of a body', async () => {
    const begun = [begin('f.md'), begin('g.md'), begin('h.md', other)];
    await eventually(() => expect(waiting().unsentBodies).toBe(3));
    for (const { socket } of begun) socket.destroy();
    await eventually(() => expect([waiting().size, waiting().heldBytes, free()]).toEqual([0, 0, 3]));
    expect(await vault.list({ prefix: 'f.md' })).toEqual([]);
  });

  describe('with a slow reader', () => {
    /** Waits for the beginning of an answer and reads no more of it. */
    async function beginReading(path: string): Promise<Socket> {
      const socket = openSocket(service.url);
      socket.write(headOf('GET', `${vault.path}/notes/${path}`, headers(0)));
      await new Promise<void>((resolve) => socket.once('readable', resolve));
      return socket;
    }

    it('hold no slot, and are complete when they are read later', async () => {
      const text = 'aé€😀\n"\\'.repeat(500_000);
      await vault.create('signs.md', text).expect(201);
      const sockets = await Promise.all(Array.from({ length: 8 }, () => beginReading('signs.md')));
      expect([free(), slots().queued]).toEqual([3, 0]);
      expect((await vault.read('0.md').expect(200)).body.content.length).toBe(8 * MIB);
      const [first, ...rest] = sockets;
      for (const socket of rest) socket.destroy();
      const body = chunksOf(answerOf(await received(first!)).body);
      expect((JSON.parse(body.toString()) as { content: string }).content === text).toBe(true);
    });

    it('are cut off when the stored bytes change meanwhile: a part never looks like the whole', async () => {
      await vault.create('damaged.md', 'x'.repeat(12 * MIB)).expect(201);
      const socket = await beginReading('damaged.md');
      const names = await readdir(service.dataDir, { recursive: true });
      const paths = names.map((name) => join(service.dataDir, name));
      const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
      const file = await open(paths[sizes.indexOf(12 * MIB + ENVELOPE_OVERHEAD)]!, 'r+');
      await file.write(Buffer.alloc(16), 0, 16, 12 * MIB);
      await file.close();
      const { status, body } = answerOf(await received(socket));
      expect([status, body.endsWith('0\r\n\r\n')]).toEqual([200, false]);
    });
  });

  it('are refused with 413 by their declared length, before the body is sent', async () => {
    const length = 700 * MIB;
    const socket = openSocket(service.url);
    socket.write(headOf('POST', `${vault.path}/notes`, headers(length)));
    expect(answerOf(await received(socket)).status).toBe(413);
    expect(free()).toBe(3);
  });
});
