import { CommanderError } from 'commander';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Users } from '../../../src/domain/auth/index.js';
import type { Report } from '../../../src/operations/admin/with-service.js';
import { adminReport } from '../../kit/admin.js';
import { adminEnded, type Ended } from '../../kit/ended.js';
import { changedTables, checksums } from '../../kit/checksums.js';
import { ROOT } from '../../kit/deployment.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';
import { ADMIN, environment, startProcess } from '../../kit/process.js';
import { describeDeep, itDeep } from '../../kit/rounds.js';

const DAY = 24 * 60 * 60_000;

let service: TestService;
let alice: TestUser;
let workspaceId: string;

beforeAll(async () => {
  service = await startService();
  alice = await service.user('alice');
  const workspace = await alice.workspace();
  workspaceId = workspace.id;
  for (const content of ['one', 'two', 'three']) await workspace.put('note', content);
});
afterAll(() => service.close());

const beside = (): Record<string, string> => ({
  DATA_DIR: service.dataDir,
  DATABASE_URL: service.database.url,
});

const told = (...args: string[]): Promise<Report> => adminReport(beside(), ...args);

/** The command in a separate process, as an operator runs it. */
async function admin(env: Record<string, string>, ...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [join(ROOT, ADMIN), ...args], { env: environment(env) });
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].on('data', (chunk: Buffer) => (printed[stream] += String(chunk)));
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...printed };
}

const ahead = (days: number): string => new Date(Date.now() + days * DAY).toISOString();

/** Every command that changes data, with something to change, and what a dry run foresees. */
const CHANGING: [args: string[], foreseen: Record<string, unknown>][] = [
  [['user', 'create', 'New@Example.org', '--name', 'New'], { email: 'new@example.org', isNew: true }],
  [['user', 'create', 'alice@example.org'], { name: 'alice', isNew: false }],
  [['user', 'reset-password', 'alice@example.org'], { hasPassword: false, sessions: 1 }],
  [['user', 'suspend', 'Alice@Example.org'], { state: 'suspended', changed: true }],
  [['user', 'resume', 'alice@example.org'], { state: 'active', changed: false }],
  [['user', 'delete', 'alice@example.org'], { email: 'alice@example.org', workspaces: 1 }],
  [['subscription', 'grant', 'alice@example.org', '--status', 'active'], { plan: 'pro', status: 'active' }],
  [['subscriptions', 'expire', '--now', ahead(31)], { expired: 1 }],
  [['storage', 'set', 'alice@example.org', '--addon', '7', '--locked'], { addonBytes: 7, locked: true }],
  [['kill-switch', 'down'], { mode: 'down', now: 'off' }],
  [['signing-keys', 'renew'], { removed: 1 }],
  [['blobs', 'sweep', '--now', ahead(1)], { blobs: 2, copies: 1 }],
  [['blobs', 'move', '--to', 'disk'], { to: 'disk', moved: 2 }],
  [['retention', 'run', '--now', ahead(20)], { versions: 2 }],
  [['retention', 'run'], { versions: 0 }],
  [
    ['webhook', 'send', 'customer.subscription.created', '--user', 'alice@example.org'],
    { email: 'alice@example.org', event: expect.objectContaining({ object: 'event' }) },
  ],
];

describe('admin COMMAND --dry-run', () => {
  const { query } = { query: (sql: string, values: unknown[]) => service.database.query(sql, values) };

  beforeAll(async () => {
    await query(
      `INSERT INTO blobs (workspace_id, id, state, location, created_at) VALUES ($1, $2, 'staged', 'disk', now())`,
      [workspaceId, randomUUID()],
    );
    await query(
      `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at, not_before)
       VALUES ($1, $2, 'dying', 'inline', 0, repeat('0', 64), '', now(), now())`,
      [workspaceId, randomUUID()],
    );
    await query(
      `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before) VALUES ('disk', $1, $2, 'dying', now())`,
      [workspaceId, randomUUID()],
    );
    // Marked as dying by mistake: a sweep restores referenced blobs instead of removing them.
    await query(
      `UPDATE blobs SET state = 'dying', not_before = now()
       WHERE id = (SELECT blob_id FROM versions WHERE workspace_id = $1 ORDER BY version LIMIT 1)`,
      [workspaceId],
    );
    // As after a crash during a purge, which the next start continues, but a dry run must not.
    await query(
      `INSERT INTO workspaces (id, name, created_at, updated_at, deleted_at) VALUES ($1, 'deleted', now(), now(), now())`,
      [randomUUID()],
    );
  });

  it.each(CHANGING)('%j changes nothing and prints what would change', async (args, foreseen) => {
    const rows = await checksums(service.database);
    const env = { ...beside(), INLINE_BLOB_BYTES: '0' }; // so that there is something to move
    expect(await adminReport(env, ...args, '--dry-run')).toMatchObject({ dryRun: true, ...foreseen });
    expect(changedTables(rows, await checksums(service.database))).toEqual([]);
  });

  it('doctor --fix --dry-run changes nothing, prints what it would do, and exits with 1', async () => {
    await query(`INSERT INTO storage_accounts (user_id, used_bytes) VALUES ($1, 5)`, [alice.id]);
    const rows = await checksums(service.database);
    const finding = { fault: 'quota drift', isFixed: false, cure: expect.stringContaining('doctor --fix') };
    const report = await told('doctor', '--fix', '--dry-run');
    expect(report).toMatchObject({ dryRun: true, found: 1, fixed: 0, findings: [finding], exitCode: 1 });
    expect(changedTables(rows, await checksums(service.database))).toEqual([]);
    expect(await told('doctor', '--fix')).toMatchObject({ found: 1, fixed: 1 });
  });

  it('prints a sentence without --json', async () => {
    const { text } = await told('kill-switch', 'read-only', '--dry-run');
    expect(text).toBe('The kill switch is off, and would be read-only.');
  });

  it('fails where the command would', async () => {
    await told('user', 'create', 'twice@example.org');
    const dry = (...args: string[]): Promise<Report> => told(...args, '--dry-run');
    await expect(dry('user', 'create', 'twice@example.org')).rejects.toThrow(
      'an account for twice@example.org already exists',
    );
    await expect(dry('subscription', 'grant', 'alice@example.org', '--status', 'trial')).rejects.toThrow(
      'a trial needs an end in the future',
    );
    await expect(dry('blobs', 'move', '--to', 's3')).rejects.toThrow(/^There is no S3 store; /);
  });
});

describe('admin', () => {
  it.each([
    ['subscription', 'grant', 'nobody@example.org', '--status', 'active'],
    ['user', 'reset-password', 'nobody@example.org'],
    ['subscription', 'show', 'nobody@example.org'],
    ['storage', 'set', 'nobody@example.org', '--locked'],
    ['webhook', 'send', 'invoice.payment_failed', '--user', 'nobody@example.org'],
  ])('%s %s reports an unknown account, also in a dry run', async (...args) => {
    const sentence = 'there is no account for nobody@example.org';
    await expect(told(...args)).rejects.toThrow(sentence);
    if (args[1] !== 'show') await expect(told(...args, '--dry-run')).rejects.toThrow(sentence);
  });

  it.each([
    [[]],
    [['subscription']],
    [['kill-switch', 'sideways']],
    [['user', 'create', 'not-an-address']],
    [['user', 'create', 'nameless@example.org', '--name', '']],
    [['user', 'create', 'nameless@example.org', '--name', '\t']],
    [['user', 'create', 'nameless@example.org', '--name', 'a\tb', '--dry-run']],
    [['user', 'create', 'nameless@example.org', '--name', 'x'.repeat(256)]],
    [['storage', 'set', 'alice@example.org']],
    [['jobs', '--limit', '0']],
    [['jobs', '--dry-run']],
    [['retention', 'run', '--now', 'yesterday']],
  ])('%j is refused as wrong usage', async (args) => {
    const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    await expect(told(...args)).rejects.toThrow(CommanderError);
    stderr.mockRestore();
  });

  it('user create refuses a malformed name, and states the rule', async () => {
    const command = ['user', 'create', 'nameless@example.org', '--name', 'a\tb'];
    const { code, stderr } = await adminEnded(beside(), ...command);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('It must be 1 to 255 characters, without control characters.'),
    ]);
    const users = service.app.get(Users);
    await expect(users.create('nameless@example.org', ' ', 'a password')).rejects.toThrow(
      'name must be 1 to',
    );
    expect(await users.findByEmail('nameless@example.org')).toBeNull();
    expect(await told(...command.slice(0, -1), ' With a name ')).toMatchObject({ name: 'With a name' });
  });

  it.each([[[]], [['user']]])('%j --json reports that no command is given', async (args) => {
    const { code, stdout, stderr } = await adminEnded(beside(), ...args, '--json');
    expect([code, stdout]).toEqual([2, '{"error":"no command given; --help lists them"}\n']);
    expect(stderr).toMatch(/^Usage: admin /);
  });

  itDeep('exits with 0, 1 or 2; --json prints one object to stdout and messages to stderr', async () => {
    const ended = await Promise.all([
      admin(beside(), 'kill-switch', 'off', '--json'),
      admin(beside(), '--json', 'subscription', 'show', 'nobody@example.org'),
      admin(beside(), 'jobs', '--json', '--limit', 'all'),
    ]);
    ended.push(await adminEnded(beside(), 'retention', 'run', '--help'));
    const sentence = 'there is no account for nobody@example.org';
    const usage = "option '--limit <number>' argument 'all' is invalid. It must be a number from 1 to 9999.";
    expect(ended).toEqual([
      { code: 0, stdout: '{"mode":"off"}\n', stderr: '' },
      { code: 1, stdout: `{"error":"${sentence}"}\n`, stderr: `${sentence}\n` },
      { code: 2, stdout: `${JSON.stringify({ error: usage })}\n`, stderr: `error: ${usage}\n` },
      { code: 0, stdout: expect.stringMatching(/--now[^]*--dry-run[^]*--json/), stderr: '' },
    ]);
  });
});

describeDeep('admin, with the embedded database', () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'sync-admin-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  it('works with and without a running service, and ends its database after a failed start', async () => {
    const env = { DATA_DIR: dataDir };
    const running = await startProcess(env);
    const told = await admin(env, '--json', 'kill-switch', 'read-only');
    expect(told).toEqual({ code: 0, stdout: '{"mode":"read-only"}\n', stderr: '' });
    await running.end('SIGTERM');

    const [blobs, elsewhere] = [join(dataDir, 'blobs'), join(dataDir, 'elsewhere')];
    await rename(blobs, elsewhere);
    await writeFile(blobs, '');
    const failed = await admin(env, '--json', 'jobs');
    expect(failed).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^\{"error":".* is a file .*"\}\n$/),
    });
    await rm(blobs);
    await rename(elsewhere, blobs);

    const alone = await admin(env, '--json', 'kill-switch', 'off', '--dry-run');
    const foreseen = '{"dryRun":true,"mode":"off","now":"read-only"}\n';
    expect(alone).toEqual({ code: 0, stdout: foreseen, stderr: '' });
  });
});
