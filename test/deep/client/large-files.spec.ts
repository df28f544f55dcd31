import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildClientPackage } from '../../kit/client-package.js';
import { type OwnProcess, startOwnProcess } from '../../kit/own-process.js';

const run = promisify(execFile);
const MIB = 1024 * 1024;
const SIZE = 300 * MIB;
/** The heap of the client's process, and by how much a large file may raise its peak over a small one. */
const HEAP_MIB = 64;
const ALLOWED_MIB = 64;
const ROUNDS = 3;

interface Synced {
  readonly stopped?: string;
  readonly leftOver: unknown[];
  readonly peakMib: number;
}

describe('a file of 300 MiB', () => {
  const masterKey = randomBytes(32).toString('hex');
  let own: OwnProcess;
  let workspace: string;
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'large-files-'));
    await buildClientPackage(join(home, 'package'));
    own = await startOwnProcess({ MAX_FILE_BYTES: String(400 * MIB) });
    workspace = (await own.alice.workspace()).id;
  });
  afterAll(async () => {
    await own.end();
    await rm(home, { recursive: true, force: true });
  });

  async function sync(name: string): Promise<Synced> {
    const [folder, state] = [join(home, name), join(home, `${name} state`)];
    await mkdir(folder, { recursive: true });
    const env = {
      ...{ PATH: process.env.PATH, PACKAGE: join(home, 'package'), SYNC_URL: own.service.url },
      ...{ ACCESS_TOKEN: own.alice.token, WORKSPACE: workspace, MASTER_KEY: masterKey },
      ...{ FOLDER: folder, STATE: state },
    };
    const program = join(import.meta.dirname, '../../kit/programs/sync-once.mjs');
    const { stdout } = await run(process.execPath, [`--max-old-space-size=${HEAP_MIB}`, program], { env });
    return JSON.parse(stdout) as Synced;
  }

  it('is uploaded and downloaded with at most 64 MiB more memory than a small file', async () => {
    for (const name of ['one', 'two']) await mkdir(join(home, name));
    await writeFile(join(home, 'one/small.md'), 'small');
    const small = [await sync('one'), await sync('two')];
    const rises: number[] = [];
    // A busy machine delays garbage collection; memory that is really held is held in each round.
    for (let round = 0; round < ROUNDS && !(rises.at(-1)! < ALLOWED_MIB); round++) {
      const film = `film-${round}.mov`;
      await writeLarge(join(home, 'one', film), SIZE);
      const large = [await sync('one'), await sync('two')];
      for (const { stopped, leftOver } of [...small, ...large])
        expect([stopped, leftOver]).toEqual([undefined, []]);
      expect(await hashOf(join(home, 'two', film))).toBe(await hashOf(join(home, 'one', film)));
      for (const name of ['one', 'two'])
        expect(await readdir(join(home, name, '.cloud-sync/staging'))).toEqual([]);
      rises.push(Math.max(...large.map(({ peakMib }, index) => peakMib - small[index]!.peakMib)));
    }
    expect(Math.min(...rises)).toBeLessThan(ALLOWED_MIB);
  });
});

async function writeLarge(path: string, size: number): Promise<void> {
  const file = await open(path, 'wx');
  const block = randomBytes(MIB);
  for (let at = 0; at < size; at += MIB) {
    block.writeUInt32BE(at);
    await file.write(block);
  }
  await file.close();
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}
