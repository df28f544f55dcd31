import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AlreadyRunning, Lock } from '../../../client/src/folder/index.js';
import { ROOT } from '../../kit/deployment.js';

/** The lock of a state, with processes of their own. */
const PROCESSES = 4;
const FOR_MS = 4_000;
/** By each, however long a slow machine takes for it. */
const LEAST = 50;

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'lock-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('a lock', () => {
  it('that a killed process has left is taken by one of several at a time, however they meet', async () => {
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

  it('is free again when whoever removed a leftover was killed in the middle of it', async () => {
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
