import supertest from 'supertest';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { assetToken, TestAssets } from '../../kit/assets.js';
import { filesIn } from '../../kit/exports.js';
import { BASE_URL, startService, type TestService, type TestUser } from '../../kit/index.js';
import { formOf, formsOf, textOf, Visitor } from '../../kit/visitor.js';
import { bytes } from '../../kit/workspace.js';

const PASSWORD = 'correct horse battery staple';
const ELEVEN_MINUTES = 11 * 60_000;

let service: TestService;
let advancedMs = 0;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());
afterEach(() => advance(-advancedMs));

function advance(ms: number): void {
  advancedMs += ms;
  service.clock.advance(ms);
}

async function signedIn(name: string): Promise<{ browser: Visitor; user: TestUser; email: string }> {
  const email = `${name}@example.org`;
  await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ email, name, password: PASSWORD })
    .expect(200);
  const browser = new Visitor(service.url);
  await browser.submit(await browser.get('/account'), 'Sign in', { email, password: PASSWORD });
  return { browser, user: await service.newcomer(name), email };
}

const account = (browser: Visitor): Promise<supertest.Response> => browser.get('/account');
const textAt = async (browser: Visitor): Promise<string> => textOf((await account(browser)).text);

describe('the name on the account page', () => {
  it('can be changed, and the API returns the new one', async () => {
    const { browser, user } = await signedIn('before');
    const answer = await browser.submit(await account(browser), 'Change name', { name: '  Ada  ' });
    expect(answer.headers.location).toBe('/account?done=name');
    expect(textOf((await browser.get('/account?done=name')).text)).toContain('Your name has been changed.');
    expect((await user.get('/api/v1/auth/me').expect(200)).body.name).toBe('Ada');
  });

  it('must not be empty or longer than 255 characters', async () => {
    const { browser, user } = await signedIn('stays');
    for (const name of ['', 'x'.repeat(256)]) {
      const answer = await browser.submit(await account(browser), 'Change name', { name });
      expect(answer.status).toBe(422);
      expect(textOf(answer.text)).toContain('Enter a name of 1 to 255 characters.');
    }
    expect((await user.get('/api/v1/auth/me').expect(200)).body.name).toBe('stays');
  });
});

describe('the trial on the account page', () => {
  it('can be started once, and is not offered afterwards', async () => {
    const { browser, user } = await signedIn('tries');
    const page = await account(browser);
    const answer = await browser.submit(page, 'Start the trial');
    expect(answer.headers.location).toBe('/account?done=trial');
    expect((await user.get('/api/v1/subscription').expect(200)).body.status).toBe('trial');
    expect(formsOf(await account(browser)).map(({ label }) => label)).not.toContain('Start the trial');

    await service.app.get(Subscriptions).grant(user.id, 'free', null);
    expect((await browser.submit(page, 'Start the trial')).status).toBe(409);
    expect(formsOf(await account(browser)).map(({ label }) => label)).not.toContain('Start the trial');
  });
});

describe('workspaces on the account page', () => {
  it('are listed with the number and size of their files, versions and attachments', async () => {
    const { browser, user } = await signedIn('has-notes');
    expect(await textAt(browser)).toContain('There is no workspace yet.');
    await user.post('/api/v1/subscription/trial').expect(200);
    const workspace = await user.workspace('Diary');
    expect(await textAt(browser)).toContain('0 files and 0 versions in 0 bytes, 0 attachments, made ');
    await workspace.put('YQ', Buffer.alloc(1024)).expect(201);
    await workspace.put('YQ', Buffer.alloc(2048)).expect(200);
    await TestAssets.of(workspace).create(assetToken(), Buffer.alloc(4096)).expect(201);
    expect(await textAt(browser)).toContain(
      'Diary 1 file and 2 versions in 3 KiB, 1 attachment in 4 KiB, last changed ',
    );
  });

  it('can be renamed by their owner alone, under the rules for new names', async () => {
    const { browser, user } = await signedIn('renames');
    await user.post('/api/v1/subscription/trial').expect(200);
    const workspace = await user.workspace('Diary');
    const other = await user.workspace('Other');
    const nameOf = async (path: string): Promise<string> => (await user.get(path).expect(200)).body.name;
    for (const name of ['', 'x'.repeat(256)]) {
      const wrong = await browser.submit(await account(browser), 'Rename Diary', { name });
      expect([wrong.status, textOf(wrong.text)]).toEqual([
        422,
        expect.stringContaining('Enter a name of 1 to 255 characters.'),
      ]);
    }
    expect(await nameOf(workspace.path)).toBe('Diary');
    const answer = await browser.submit(await account(browser), 'Rename Diary', { name: '  Journal <b> ' });
    expect(answer.headers.location).toBe('/account?done=workspace-name');
    expect(textOf((await browser.get(answer.headers.location!)).text)).toContain('has been renamed');
    expect([await nameOf(workspace.path), await nameOf(other.path)]).toEqual(['Journal <b>', 'Other']);

    const stranger = await signedIn('renames-not');
    const fields = (id: string): [string, string][] => [
      ['csrf_token', formOf(page, 'Change name').values['csrf_token']!],
      ['id', id],
      ['name', 'Mine'],
    ];
    const page = await account(stranger.browser);
    const rename = (id: string) => stranger.browser.post('/account/workspaces/rename', fields(id));
    for (const id of [workspace.id, 'no-id', '']) expect((await rename(id)).status).toBe(404);
    await user.delete(other.path).expect(200);
    const own = formOf(await account(browser), 'Change name').values['csrf_token']!;
    const gone = await browser.post('/account/workspaces/rename', [
      ['csrf_token', own],
      ['id', other.id],
      ['name', 'Back'],
    ]);
    expect(gone.status).toBe(404);
    expect(await nameOf(workspace.path)).toBe('Journal <b>');
  });

  it('can be deleted by their owner alone, who must type the name', async () => {
    const { browser, user } = await signedIn('tidies');
    await user.post('/api/v1/subscription/trial').expect(200);
    const workspace = await user.workspace('Diary');
    const kept = await user.workspace('Kept');
    const page = await account(browser);
    const wrong = await browser.submit(page, 'Delete Diary', { confirm_name: 'diary' });
    expect(wrong.status).toBe(422);
    expect(textOf(wrong.text)).toContain('This is not the name of the workspace.');
    const stranger = await signedIn('stranger');
    const theirs = formOf(await account(stranger.browser), 'Change name').values['csrf_token']!;
    const stolen = await stranger.browser.post('/account/workspaces/delete', [
      ['csrf_token', theirs],
      ['id', workspace.id],
      ['confirm_name', 'Diary'],
    ]);
    expect(stolen.status).toBe(404);
    await user.get(workspace.path).expect(200);

    const answer = await browser.submit(page, 'Delete Diary', { confirm_name: 'Diary' });
    expect(answer.headers.location).toBe('/account?done=workspace');
    await user.get(workspace.path).expect(404);
    await user.get(kept.path).expect(200);
  });

  it('can be deleted only with the password when the sign-in is not recent', async () => {
    const { browser, user } = await signedIn('later');
    await user.post('/api/v1/subscription/trial').expect(200);
    const workspace = await user.workspace('Diary');
    advance(ELEVEN_MINUTES);
    const page = await account(browser);
    const missing = await browser.submit(page, 'Delete Diary', { confirm_name: 'Diary' });
    expect([missing.status, textOf(missing.text)]).toEqual([
      422,
      expect.stringContaining('Enter your password.'),
    ]);
    const rows = (): Promise<unknown[]> =>
      service.database.query('SELECT FROM workspaces WHERE id = $1 AND deleted_at IS NULL', [workspace.id]);
    expect(await rows()).toHaveLength(1);
    await browser.submit(page, 'Delete Diary', { confirm_name: 'Diary', confirm_password: PASSWORD });
    expect(await rows()).toHaveLength(0);
  });

  it('are limited to the newest 100, and counts above 1,000 are shown as "over 1,000"', async () => {
    const { browser, user } = await signedIn('collects');
    await service.database.query(
      `INSERT INTO workspaces (id, user_id, name, created_at, updated_at)
       SELECT gen_random_uuid(), $1, 'Workspace ' || n, now(), now() FROM generate_series(1, 999) n`,
      [user.id],
    );
    const id = 'ffffffff-ffff-4fff-bfff-ffffffffffff';
    await service.database.query(
      `INSERT INTO workspaces (id, user_id, name, created_at, updated_at) VALUES ($1, $2, 'Large', now(), now())`,
      [id, user.id],
    );
    await service.database.query(
      `WITH blob AS (
         INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
         VALUES ($1, gen_random_uuid(), 'live', 'inline', 1, repeat('a', 64), 'x', now()) RETURNING id
       ), file AS (
         INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, created_at, updated_at)
         SELECT $1, gen_random_uuid(), 'YQ', id, repeat('a', 64), 1, 10000, now(), now() FROM blob RETURNING id
       )
       INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, created_at)
       SELECT $1, gen_random_uuid(), file.id, n, blob.id, repeat('a', 64), 1, now() FROM file, blob, generate_series(1, 10000) n`,
      [id],
    );
    const page = await account(browser);
    expect(formsOf(page).filter(({ label }) => label.startsWith('Delete Workspace'))).toHaveLength(99);
    expect(textOf(page.text)).toContain('Showing the newest 100.');
    expect(textOf(page.text)).toContain('over 1,000 versions');
  });
});

describe('the export on the account page', () => {
  const download = async (browser: Visitor, fields: [string, string][]): Promise<supertest.Response> =>
    supertest(service.url)
      .post('/account/export')
      .set({ Origin: 'null', Cookie: browser.cookie, 'Content-Type': 'application/x-www-form-urlencoded' })
      .buffer(true)
      .parse(bytes)
      .send(new URLSearchParams(fields).toString());

  it('is an archive with the account and its audit log, in which it is recorded', async () => {
    const { browser, user } = await signedIn('takes-out');
    const { values } = formOf(await account(browser), 'Export everything');
    const answer = await download(browser, Object.entries(values));
    expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="export-/);
    const files = await filesIn(answer.body);
    expect(String(files.get('account.json'))).toContain(user.id);
    expect([...files.keys()].at(-1)).toBe('manifest.json');
    const audit = [...files].find(([name]) => name.startsWith('audit-'))?.[1];
    expect(String(audit)).toContain('account.exported');
  });

  it('needs the password when the sign-in is not recent', async () => {
    const { browser } = await signedIn('waits');
    advance(ELEVEN_MINUTES);
    const page = await account(browser);
    const answer = await browser.submit(page, 'Export everything');
    expect([answer.status, textOf(answer.text)]).toEqual([
      422,
      expect.stringContaining('Enter your password.'),
    ]);
    const { values } = formOf(page, 'Export everything');
    const exported = await download(browser, Object.entries({ ...values, confirm_password: PASSWORD }));
    expect(exported.headers['content-type']).toBe('application/x-tar');
  });
});

describe('the deletion on the account page', () => {
  it('needs the email address typed, and ends the account at once', async () => {
    const { browser, user, email } = await signedIn('goes');
    const page = await account(browser);
    const wrong = await browser.submit(page, 'Delete account', { confirm_email: 'other@example.org' });
    expect([wrong.status, textOf(wrong.text)]).toEqual([
      422,
      expect.stringContaining('This is not the address of the account.'),
    ]);
    await user.get('/api/v1/auth/me').expect(200);
    const answer = await browser.submit(page, 'Delete account', { confirm_email: ` ${email.toUpperCase()}` });
    expect([answer.status, textOf(answer.text)]).toEqual([
      200,
      expect.stringContaining('Your account is deleted'),
    ]);
    await user.get('/api/v1/auth/me').expect(404);
    expect(formsOf(await account(browser)).map(({ label }) => label)).toEqual(['Sign in', 'Sign up']);
  });

  it('needs the right password when the sign-in is not recent', async () => {
    const { browser, user, email } = await signedIn('hesitates');
    advance(ELEVEN_MINUTES);
    const page = await account(browser);
    for (const confirm_password of ['', 'not the password']) {
      const answer = await browser.submit(page, 'Delete account', { confirm_email: email, confirm_password });
      expect(answer.status).toBe(422);
    }
    expect(await service.database.query('SELECT FROM users WHERE id = $1', [user.id])).toHaveLength(1);
    await browser.submit(page, 'Delete account', { confirm_email: email, confirm_password: PASSWORD });
    expect(await service.database.query('SELECT FROM users WHERE id = $1', [user.id])).toHaveLength(0);
  });
});

it('the account page links to its sections', async () => {
  const { browser } = await signedIn('reads');
  const { text } = await account(browser);
  const links = [...text.matchAll(/<a href="#([^"]+)">/g)].map(([, id]) => id!);
  expect(links.length).toBeGreaterThanOrEqual(9);
  for (const id of links) expect(text).toContain(`<h2 id="${id}">`);
});
