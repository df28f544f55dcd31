import { CommanderError } from 'commander';
import { adminJson, adminReport } from '../../kit/admin.js';
import { assetToken, envelope, TestAssets } from '../../kit/assets.js';
import { eventually, startService, type TestService, TestSocket, type TestUser } from '../../kit/index.js';

const GIB = 1024 ** 3;

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const admin = (...args: string[]): Promise<Record<string, unknown>> =>
  adminJson({ DATA_DIR: service.dataDir, DATABASE_URL: service.database.url }, 'user', ...args);

const told = async (...args: string[]): Promise<string> =>
  (await adminReport({ DATA_DIR: service.dataDir, DATABASE_URL: service.database.url }, 'user', ...args))
    .text;

interface Page {
  readonly accounts: readonly Record<string, unknown>[];
  readonly next: string | null;
}

const list = async (...args: string[]): Promise<Page> => (await admin('list', ...args)) as unknown as Page;
const emailsOf = ({ accounts }: Page): unknown[] => accounts.map(({ email }) => email);

describe('admin user list', () => {
  let anna: TestUser;
  const asset = envelope(100);
  beforeAll(async () => {
    anna = await service.user('list-anna');
    const notes = await anna.workspace();
    for (const text of ['one', 'three']) await notes.put('YQ', text);
    const gone = await anna.workspace('gone');
    await gone.put('YQ', 'not counted').expect(201);
    await anna.delete(gone.path).expect(200);
    await TestAssets.of(notes).create(assetToken(), asset).expect(201);
    for (const name of ['list-bob', 'list-cleo']) await service.newcomer(name);
    await admin('suspend', 'list-bob@example.org');
  });

  it('prints state, times and usage of each account', async () => {
    const { accounts } = await list('--search', 'LIST-');
    expect(accounts).toEqual([
      {
        id: anna.id,
        email: 'list-anna@example.org',
        name: 'list-anna',
        createdAt: expect.stringMatching(/^\d{4}-/),
        suspendedAt: null,
        promotedAt: null,
        lastSeenAt: expect.stringMatching(/^\d{4}-/),
        workspaces: 1,
        documentBytes: 8,
        assetBytes: asset.length,
        state: 'active',
      },
      expect.objectContaining({ email: 'list-bob@example.org', state: 'suspended', workspaces: 0 }),
      expect.objectContaining({
        email: 'list-cleo@example.org',
        state: 'active',
        documentBytes: 0,
        assetBytes: 0,
      }),
    ]);
    expect(await told('list', '--search', 'list-bob')).toMatch(/^suspended .* list-bob@example\.org$/m);
    expect(await told('list', '--search', 'list-anna')).toMatch(
      new RegExp(
        `workspaces +document bytes +asset bytes +email\n.* 1 +8 +${asset.length} +list-anna@example\\.org$`,
      ),
    );
    expect(await told('list', '--search', 'nobody%')).toBe('There is no such account.');
  });

  it('prints when the account was last active', async () => {
    const { body } = await anna.post('/api/v1/auth/tokens').send({ name: 'laptop' }).expect(201);
    await anna.at(service.url, body.token).get('/api/v1/auth/me').expect(200);
    const [found] = (await list('--search', 'list-anna')).accounts;
    expect(new Date(String(found!.lastSeenAt)).getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  it('continues from page to page, with each account once', async () => {
    const first = await list('--search', 'list-', '--limit', '2');
    expect(emailsOf(first)).toEqual(['list-anna@example.org', 'list-bob@example.org']);
    expect(first.next).toBe('list-bob@example.org');
    const second = await list('--search', 'list-', '--limit', '2', '--after', String(first.next));
    expect(emailsOf(second)).toEqual(['list-cleo@example.org']);
    expect(second.next).toBeNull();
  });

  it('lists 100,000 accounts page by page', async () => {
    await service.database.query(
      `INSERT INTO users (email, name, email_verified, created_at, updated_at)
       SELECT format('many-%s@example.org', lpad(i::text, 6, '0')), 'many', false, now(), now() FROM generate_series(1, 100000) i`,
    );
    const pages: unknown[][] = [];
    for (let next: string | null = 'many-'; next?.startsWith('many-');) {
      const page: Page = await list('--limit', '9999', '--after', next);
      pages.push(emailsOf(page));
      next = page.next;
    }
    const found = pages.flat().filter((email) => String(email).startsWith('many-'));
    expect(new Set(found).size).toBe(100_000);
    expect(found).toHaveLength(100_000);
  });
});

describe('admin user show', () => {
  it('prints identity, usage and credentials of the account', async () => {
    const user = await service.user('shown');
    await (await user.workspace()).put('YQ', 'three').expect(201);
    await user.post('/api/v1/devices').send({ name: 'Laptop', platform: 'linux' }).expect(201);
    await user.post('/api/v1/auth/tokens').send({ name: 'laptop' }).expect(201);
    expect(await admin('show', 'Shown@Example.org')).toMatchObject({
      ...{ id: user.id, email: 'shown@example.org', state: 'active', suspendedAt: null },
      ...{ workspaces: 1, devices: 1, tokens: 1, sessions: 1 },
      subscription: { status: 'trial', isActive: true },
      documentBytes: 5,
      documents: { usedBytes: 5, quotaBytes: 50 * GIB },
      assets: { usedBytes: 0, locked: false },
    });
    expect(await told('show', user.email)).toContain(`\ndocuments: 5 of ${50 * GIB} bytes\n`);
    await service.newcomer('shown-free');
    expect(await told('show', 'shown-free@example.org')).toContain('\ndocuments: 0 bytes, unlimited\n');
    await expect(admin('show', 'nobody@example.org')).rejects.toThrow(
      'there is no account for nobody@example.org',
    );
  });
});

describe('admin user suspend and resume', () => {
  it('take effect on the running service, and report whether anything changed', async () => {
    const user = await service.user('hand');
    const socket = await TestSocket.join(await user.workspace(), 'laptop');
    expect(await admin('suspend', user.email)).toMatchObject({ state: 'suspended', changed: true });
    expect(await admin('suspend', user.email)).toMatchObject({ state: 'suspended', changed: false });
    await user.get('/api/v1/auth/me').expect(403);
    expect(await socket.closed()).toBe(4403);
    expect(await admin('resume', user.email)).toMatchObject({ state: 'active', changed: true });
    expect(await admin('resume', user.email)).toMatchObject({ state: 'active', changed: false });
    await user.get('/api/v1/auth/me').expect(200);
  });
});

describe('admin user delete', () => {
  it('deletes a suspended account; the service closes its sockets and empties its workspaces', async () => {
    const user = await service.user('leaver');
    const notes = await user.workspace();
    await notes.put('path', 'content').expect(201);
    const socket = await TestSocket.join(notes, 'laptop');
    await admin('suspend', user.email);
    expect(await told('delete', user.email, '--dry-run')).toBe(
      'leaver@example.org would be permanently deleted, with 1 workspace, 7 bytes of documents and 0 bytes of assets.',
    );
    expect(await admin('delete', user.email, '--yes')).toEqual({
      ...{ id: user.id, email: user.email },
      ...{ workspaces: 1, documentBytes: 7, assetBytes: 0 },
    });
    await user.get('/api/v1/workspaces').expect(401);
    await socket.closed();
    await eventually(async () =>
      expect(await service.database.query('SELECT FROM workspaces WHERE id = $1', [notes.id])).toEqual([]),
    );
  });

  it('requires a confirmation', async () => {
    const user = await service.newcomer('kept');
    await expect(admin('delete', user.email)).rejects.toThrow(CommanderError);
    await user.get('/api/v1/auth/me').expect(200);
  });
});
