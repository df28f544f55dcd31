import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import supertest from 'supertest';
import {
  contentHash,
  dataOf,
  decryptContent,
  encryptContent,
  encryptPath,
  Session,
  Vault,
  Workspace,
} from '../../../client/src/core/index.js';
import { describeWithBrowser, openBrowser, pageOf } from '../../kit/browser.js';
import { buildClientPackage, bundleForBrowsers } from '../../kit/client-package.js';
import { startService, type TestService } from '../../kit/index.js';

/** The programs of client/README.md, run as they stand there. */
const ROOT = join(import.meta.dirname, '..', '..', '..');
const FILE = /^```\w+ file=(\S+)\n(.*?)^```$/gms;
const [EMAIL, PASSWORD, VAULT_PASSWORD] = [
  'grace@example.org',
  'correct horse battery',
  'the vault password',
];

let service: TestService;
let site: Server;
let origin: string;
let directory: string;
let session: Session;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'client-readme-'));
  const readme = await readFile(join(ROOT, 'client/README.md'), 'utf8');
  for (const [, name = '', text = ''] of readme.matchAll(FILE)) await writeFile(join(directory, name), text);
  await bundleForBrowsers(join(directory, 'cloud-sync-client.js'));
  await buildClientPackage(join(directory, 'node_modules/cloud-sync-client'));
  site = createServer((request, response) => {
    const name = (request.url ?? '').slice(1);
    readFile(join(directory, name)).then(
      (body) =>
        response
          .setHeader('content-type', name.endsWith('.html') ? 'text/html' : 'text/javascript')
          .end(body),
      () => response.writeHead(404).end(),
    );
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  service = await startService({ env: { TRUSTED_ORIGINS: origin } });
  const account = { email: EMAIL, password: PASSWORD, name: 'Grace' };
  await supertest(service.url).post('/api/auth/sign-up/email').send(account).expect(200);
  session = await Session.signIn(service.url, account);
  await session.api.POST('/api/v1/subscription/trial');
});
afterAll(async () => {
  site.closeAllConnections();
  site.close();
  await service.close();
  await rm(directory, { recursive: true, force: true });
});

describe('the example for Node.js', () => {
  it('uploads notes and reads them again', async () => {
    const { token } = await dataOf(session.api.POST('/api/v1/auth/tokens', { body: { name: 'example' } }));
    const env = { PATH: process.env['PATH'], SYNC_URL: service.url, ACCESS_TOKEN: token, VAULT_PASSWORD };
    const { stdout } = await promisify(execFile)(process.execPath, [join(directory, 'notes.mjs')], { env });
    expect(stdout.trim().split('\n').sort()).toEqual([
      'hello.md Hello!',
      'hello.md stored',
      'travel/Kraków.md Take the night train.',
      'travel/Kraków.md stored',
    ]);
  });

  it('has at most 32 lines', async () => {
    const lines = (await readFile(join(directory, 'notes.mjs'), 'utf8')).split('\n');
    expect(lines.length).toBeLessThanOrEqual(32);
  });
});

describe('the example for a folder', () => {
  it('syncs a directory with a workspace', async () => {
    const vault = await Vault.create(session, 'Folder', VAULT_PASSWORD);
    const { token } = await dataOf(session.api.POST('/api/v1/auth/tokens', { body: { name: 'folder' } }));
    const folder = join(directory, 'folder');
    await mkdir(folder);
    await writeFile(join(folder, 'note.md'), 'a note');
    const env = {
      ...{ PATH: process.env['PATH'], SYNC_URL: service.url, ACCESS_TOKEN: token, VAULT_PASSWORD },
      ...{ WORKSPACE: vault.workspaceId, FOLDER: folder, STATE: join(directory, 'state') },
    };
    const { stdout } = await promisify(execFile)(process.execPath, [join(directory, 'folder.mjs')], { env });
    expect(stdout.trim()).toBe('files in sync: 1');
    const workspace = new Workspace(session, vault.workspaceId, 'laptop');
    const { content } = await workspace.files.download(encryptPath(vault.keys, 'note.md'));
    const text = await decryptContent(vault.keys, encryptPath(vault.keys, 'note.md'), content);
    expect(Buffer.from(text).toString()).toBe('a note');
  });
});

describeWithBrowser('the example for browsers', () => {
  it('shows the notes of a vault, and what another device changes', async () => {
    const vault = await Vault.create(session, 'Notes', VAULT_PASSWORD);
    const workspace = new Workspace(session, vault.workspaceId, 'laptop');
    const write = async (name: string, text: string): Promise<void> => {
      const encryptedPath = encryptPath(vault.keys, name);
      const content = await encryptContent(vault.keys, encryptedPath, new TextEncoder().encode(text));
      await workspace.files.upload({ encryptedPath, content, contentHash: await contentHash(content) });
    };
    for (let index = 0; index < 30; index++) await write(`note ${index}.md`, `text ${index}`);

    const browser = await openBrowser();
    try {
      const page = await pageOf(await browser.newContext());
      const problems: string[] = [];
      page.on('pageerror', (error) => problems.push(error.message));
      page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
      await page.goto(`${origin}/notes.html`);
      const fields = {
        ...{ service: service.url, email: EMAIL, password: PASSWORD },
        ...{ workspace: vault.workspaceId, vaultPassword: VAULT_PASSWORD },
      };
      for (const [name, value] of Object.entries(fields)) await page.fill(`[name=${name}]`, value);
      await page.click('button');
      const item = (text: string) => page.getByText(text, { exact: true });
      await item('note 29.md: text 29').waitFor();
      expect(await page.locator('li').count()).toBe(30);
      await write('note 7.md', 'changed elsewhere');
      await item('note 7.md: changed elsewhere').waitFor();
      const { cursor } = await workspace.log.status();
      await workspace.log.pushDeletions(cursor, [{ encryptedPath: encryptPath(vault.keys, 'note 8.md') }]);
      await item('note 8.md: text 8').waitFor({ state: 'detached' });
      expect(problems.filter((text) => !text.includes('favicon') && !text.includes('404'))).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
