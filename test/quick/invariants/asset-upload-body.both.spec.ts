import { setTimeout as pause } from 'node:timers/promises';
import { DECODING, UploadBody, UploadScanner } from '../../../src/domain/assets/upload-body.js';
import { BadRequest, parseJsonObject, ServiceUnavailable } from '../../../src/platform/http/index.js';
import { FairSemaphore } from '../../../src/platform/limits/index.js';
import { Random } from '../../kit/random.js';
import { itDeep } from '../../kit/rounds.js';

const SEED = 20261120;
const STRICT_BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

interface Read {
  readonly token: unknown;
  /** Hex; undefined where `data` is not a string. */
  readonly bytes: string | undefined;
}

/** Reads a whole body with the parser of all other routes. */
function readWhole(body: Buffer): Read | 'refused' {
  try {
    const { encryptedFilename, data } = parseJsonObject(body);
    if (typeof data !== 'string') return { token: encryptedFilename, bytes: undefined };
    const bytes = Buffer.from(data, 'base64');
    if (!STRICT_BASE64.test(data) || bytes.toString('base64') !== data) return 'refused';
    return { token: encryptedFilename, bytes: bytes.toString('hex') };
  } catch {
    return 'refused';
  }
}

/** Reads it piece by piece. */
function readInPieces(body: Buffer, cuts: number[]): Read | 'refused' | 'refused as double' {
  const scanner = new UploadScanner();
  try {
    const pieces = cuts.map((cut, i) => scanner.feed(body.subarray(cuts[i - 1] ?? 0, cut)));
    const { encryptedFilename } = scanner.members();
    const bytes = scanner.hasData ? Buffer.concat(pieces).toString('hex') : undefined;
    return { token: encryptedFilename, bytes };
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error;
    return error.message.endsWith('once') ? 'refused as double' : 'refused';
  }
}

function cutsOf(random: Random, length: number): number[] {
  const cuts = Array.from({ length: random.below(6) }, () => random.below(length + 1));
  return [...cuts, length].sort((a, b) => a - b);
}

const MEMBERS = [
  '"encryptedFilename":"dG9r"',
  '"encryptedFilename" : "\\u0064G9r"',
  '"encrypted\\u0046ilename":"dG9r"',
  '"extra":{"data":"not the one","list":["data",{"data":"]}"}]}',
  '"extra":"a \\"quoted\\" brace } and \\\\"',
  '"e":[1,-2.5e3,true,false,null,"",{},[]]',
  '"d":"ünïcode \\ud83d\\ude00"',
];

function dataMember(random: Random): string {
  const bytes = Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
  const text = bytes.toString('base64');
  const escaped = random.pick([
    text,
    text.replaceAll('/', '\\/'),
    text.replaceAll('=', '\\u003d'),
    text.replace(/[A-Za-z]/, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
  ]);
  const name = random.pick(['"data"', '"d\\u0061ta"', '"data" ']);
  return `${name}${random.pick([':', ' : ', ':\n'])}"${escaped}"`;
}

function bodyFrom(random: Random): string {
  const members = [dataMember(random)];
  for (let n = random.below(4); n > 0; n--) members.push(random.pick(MEMBERS));
  members.sort(() => random.next() - 0.5);
  return `${random.pick(['', ' \n'])}{${members.join(random.pick([',', ' , ']))}}${random.pick(['', '\n'])}`;
}

/** Removes, doubles or replaces one character, mostly a structural one. */
function damaged(random: Random, body: string): string {
  const marks = [...body.matchAll(/["\\{}[\],:=/]/g)].map(({ index }) => index);
  const at = random.next() < 0.6 ? random.pick(marks) : random.below(body.length);
  const put = random.pick(['', body.charAt(at).repeat(2), '"', '\\', '=', '-', ' ', '}', ',', '\u0000', 'é']);
  return body.slice(0, at) + put + body.slice(at + 1);
}

describe('the body of an upload, parsed in pieces', () => {
  it('has the same meaning as when it is read whole, wherever it is cut', () => {
    const random = new Random(SEED);
    let accepted = 0;
    for (let round = 0; round < 3000; round++) {
      const body = Buffer.from(bodyFrom(random));
      const read = readInPieces(body, cutsOf(random, body.length));
      if (typeof read === 'object') accepted++;
      // Two of the same member are refused here; JSON.parse takes the last.
      if (read !== 'refused as double')
        expect({ body: body.toString(), read }).toEqual({ body: body.toString(), read: readWhole(body) });
    }
    expect(accepted).toBeGreaterThan(2000);
  });

  itDeep('is refused like the whole body, whatever is damaged', () => {
    const random = new Random(SEED + 1);
    let refused = 0;
    for (let round = 0; round < 10_000; round++) {
      const body = Buffer.from(damaged(random, bodyFrom(random)));
      const read = readInPieces(body, cutsOf(random, body.length));
      if (read === 'refused') refused++;
      if (read !== 'refused as double')
        expect({ body: body.toString(), read }).toEqual({ body: body.toString(), read: readWhole(body) });
    }
    expect(refused).toBeGreaterThan(5000);
  });

  it('is read when it consists of half a million escapes', () => {
    const slashes = '\\/'.repeat(1 << 19);
    const body = Buffer.from(`{"encryptedFilename":"dG9r","data":"${slashes}"}`);
    const cuts = Array.from({ length: Math.ceil(body.length / 65_536) }, (_, i) => (i + 1) * 65_536);
    expect(readInPieces(body, cuts)).toMatchObject({ token: 'dG9r' });
  });
});

describe('decoding slots', () => {
  it('are free while a client is silent, and released when an upload is aborted', async () => {
    const slots = new FairSemaphore({ ...DECODING, atOnce: 1, waiting: 0 });
    let goOn = (): void => undefined;
    async function* slowly(): AsyncGenerator<Buffer> {
      yield Buffer.from('{"encryptedFilename":"dG9r","data":"AAAA');
      await new Promise<void>((resolve) => (goOn = resolve));
      yield Buffer.from('AAAAAAAA');
    }
    const body = new UploadBody(slowly(), slots, 'alice');
    expect(await body.open()).toBe('dG9r');
    const envelope = body.envelope()[Symbol.asyncIterator]();
    await envelope.next();
    const next = envelope.next();
    (await slots.take('bob'))();
    goOn();
    await next; // the second piece is being written
    await expect(slots.take('bob')).rejects.toThrow(ServiceUnavailable);
    body.close();
    await pause(0);
    (await slots.take('bob'))();
  });
});
