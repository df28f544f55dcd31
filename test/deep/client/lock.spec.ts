import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AlreadyRunning, Lock } from '../../../client/src/folder/index.js';
import { ROOT } from '../../kit/deployment.js';

const PROCESSES = 4;
const FOR_MS = 4_000;
/** Each process takes the lock at least this often, however long that lasts. */
const LEAST = 50;

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'lock-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('a lock', () => {
  it('left by a killed process is taken by one of several processes at a time', async () => {
    const program = join(ROOT, 'test/kit/programs/contend.mjs');
    const env = {
      ...process.env,
      PACKAGE: join(ROOT, 'dist/client/src'),
      STATE: home,
      ...{ FOR_MS: String(FOR_MS), LEAST: String(LEAST) },
    };
    const runs = Array.from({ length: PROCESSES }, async () => {
      const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const [code] = (await once(child, 'close')) as [number | null];
      expect(code).toBe(0);
      return JSON.parse(text) as { taken: number; twice: number };
    });
    const results = await Promise.all(runs);
    const sum = (name: 'taken' | 'twice') => results.reduce((total, one) => total + one[name], 0);
    expect(sum('twice')).toBe(0);
    expect(sum('taken')).toBeGreaterThanOrEqual(PROCESSES * LEAST);
  });

  it('can be taken after a process was killed while it removed a stale lock', async () => {
    const path = join(home, 'lock');
    for (const name of ['lock', 'lock.stale', 'lock.stale.stale'])
      writeFileSync(join(home, name), '4194304 1');
    const lock = await Lock.take(path);
    await expect(Lock.take(path)).rejects.toThrow(AlreadyRunning);
    expect(readFileSync(path, 'utf8')).toMatch(new RegExp(`^${process.pid} `));
    expect(readdirSync(home)).toEqual(['lock']);
    await lock.release();
    expect(readdirSync(home)).toEqual([]);
  });
});
