import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TestVault } from '../../kit/automation.js';
import { commandsOf, runCommands } from '../../kit/documented-commands.js';
import { startService, type TestService } from '../../kit/index.js';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PASSWORD = `it's "quoted" – ünd \\ more`;

const run = promisify(execFile);

let service: TestService;
let vault: TestVault;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  service = await startService();
  const alice = await service.user('alice');
  vault = await TestVault.setUp(await alice.workspace(), PASSWORD);
  const scopes = ['documents:read', 'documents:write'];
  const { token } = (await alice.post('/api/v1/auth/tokens').send({ name: 'docs', scopes }).expect(201)).body;
  env = {
    PATH: process.env['PATH'],
    SYNC_URL: service.url,
    TOKEN: token,
    WORKSPACE: vault.workspace.id,
    PASSWORD,
  };
});
afterAll(() => service.close());

describe('docs/guide/automation.md', () => {
  it('has commands that work as described', async () => {
    const blocks = await commandsOf('guide/automation.md');
    expect(blocks.length).toBe(5);

    const { printed, stderr } = await runCommands(blocks, env);
    const stdout = printed.join('\n');
    expect(stderr).toBe('');
    expect(stdout).toContain('"path":"trips/Zürich 2026.md","version":1,');
    expect(stdout).toContain('# Zürich\nAn umbrella.\n');
    expect(stdout).toContain('"version":2,');
    expect(stdout).toContain('# Zürich An umbrella. The museum of design.');
    expect(stdout).toContain('"version":3,');
    expect(stdout).toMatch(/\ntrips\/Zürich 2026\.md\n/);
    expect(stdout).toMatch(/\{"ok":true\}\n\{"ok":true\}\n$/);

    expect(await vault.list()).toEqual([]);
    expect((await vault.history('trips/Zürich 2026.md')).body.versions.length).toBe(3);
    const sessions = await service.database.query('SELECT 1 FROM key_sessions');
    expect(sessions.length).toBe(1); // the test's own
  });
});

describe('examples/automation.mjs', () => {
  const example = (line: string, word: string): Promise<{ stdout: string }> =>
    run(process.execPath, [join(ROOT, 'examples', 'automation.mjs'), line, word], { env });

  it('has at most 30 lines, adds each line once, also in parallel, and prints search results', async () => {
    const source = await readFile(join(ROOT, 'examples', 'automation.mjs'), 'utf8');
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(30);

    const { stdout } = await example('Bought äpples', 'apple');
    const path = /journal\/\d{4}-\d\d-\d\d\.md/.exec(stdout)?.[0] ?? '';
    expect(stdout).toBe(`${path}: - Bought äpples\n`);
    await Promise.all([example('two', 'x'), example('three', 'x')]);
    const { content }: { content: string } = (await vault.read(path).expect(200)).body;
    const lines = content.trimEnd().split('\n');
    expect([lines[0], ...lines.slice(1).sort()]).toEqual(['- Bought äpples', '- three', '- two']);
    expect((await service.database.query('SELECT 1 FROM key_sessions')).length).toBe(1);
  });

  it('reports a wrong password', async () => {
    const wrong = run(process.execPath, [join(ROOT, 'examples', 'automation.mjs'), 'x', 'y'], {
      env: { ...env, PASSWORD: 'wrong' },
    });
    await expect(wrong).rejects.toMatchObject({ stderr: expect.stringContaining('the password is wrong') });
  });
});
