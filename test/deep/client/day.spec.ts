import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import supertest from 'supertest';
import { dataOf, Session } from '../../../client/src/core/index.js';
import type * as Library from '../../../client/src/core/index.js';
import { describeWithBrowser, openBrowser, pageOf } from '../../kit/browser.js';
import { bundleForBrowsers } from '../../kit/client-package.js';
import { Machine, type Watch } from '../../kit/command-line.js';
import { eventually, startService, type TestService } from '../../kit/index.js';
import { TcpLink } from '../../kit/tcp-link.js';

const ACCOUNT = { email: 'ada@example.org', password: 'correct horse battery', name: 'Ada' };
const VAULT_PASSWORD = 'the vault password';

/** The hash of each file, by its path. */
type Hashes = Readonly<Record<string, string>>;

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function hashesOf({ folder }: Machine): Hashes {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => !name.startsWith('.cloud-sync'));
  const regular = files.filter((name) => statSync(join(folder, name)).isFile()).sort();
  return Object.fromEntries(regular.map((name) => [name, sha256(readFileSync(join(folder, name)))]));
}

/** The editor in the browser: the library in a page, with one vault open. */
class Editor {
  private constructor(private readonly page: Page) {}

  static async open(browser: Browser, origin: string, service: string, workspace: string): Promise<Editor> {
    const page = await pageOf(await browser.newContext());
    await page.goto(`${origin}/index.html`);
    await page.evaluate(
      async ([url, id, account, password]) => {
        const library = '/client.js';
        const { Session, Vault, Workspace } = (await import(library)) as typeof Library;
        const session = await Session.signIn(url, account);
        const { keys } = await Vault.unlock(session, id, { password });
        Object.assign(globalThis, { keys, workspace: new Workspace(session, id, 'page') });
      },
      [service, workspace, ACCOUNT, VAULT_PASSWORD] as const,
    );
    return new Editor(page);
  }

  async write(path: string, text: string): Promise<void> {
    await this.page.evaluate(
      async ([name, content]) => {
        const library = '/client.js';
        const { contentHash, encryptContent, encryptPath } = (await import(library)) as typeof Library;
        const { keys, workspace } = globalThis as unknown as Opened;
        const encryptedPath = encryptPath(keys, name);
        const envelope = await encryptContent(keys, encryptedPath, new TextEncoder().encode(content));
        await workspace.files.upload({
          ...{ encryptedPath, content: envelope, contentHash: await contentHash(envelope) },
        });
      },
      [path, text] as const,
    );
  }

  /** Downloads and decrypts everything. */
  hashes(): Promise<Hashes> {
    return this.page.evaluate(async () => {
      const library = '/client.js';
      const { decryptContent, decryptPath } = (await import(library)) as typeof Library;
      const { keys, workspace } = globalThis as unknown as Opened;
      const found: [string, string][] = [];
      for await (const { files } of workspace.log.snapshot())
        for await (const { download, outcome } of workspace.downloadMany(files)) {
          if (outcome.kind !== 'content') throw new Error(outcome.kind);
          const content = await decryptContent(keys, download.encryptedPath, outcome.content);
          const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', content));
          const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
          found.push([decryptPath(keys, download.encryptedPath), hex]);
        }
      return Object.fromEntries(found);
    });
  }
}

interface Opened {
  readonly keys: Library.VaultKeys;
  readonly workspace: Library.Workspace;
}

describeWithBrowser('a day of edits in two folders and a page', () => {
  let home: string;
  let site: Server;
  let service: TestService;
  let link: TcpLink;
  let browser: Browser;
  let env: Record<string, string>;
  const running = new Set<Watch>();

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'day-'));
    await bundleForBrowsers(join(home, 'client.js'));
    site = createServer(({ url }, response) => {
      const isLibrary = url === '/client.js';
      response.setHeader('content-type', isLibrary ? 'text/javascript' : 'text/html');
      response.end(
        isLibrary ? readFileSync(join(home, 'client.js')) : '<!doctype html><title>Editor</title>',
      );
    });
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
    service = await startService({ env: { TRUSTED_ORIGINS: originOf(site) } });
    link = await TcpLink.before(service.url);
    await supertest(service.url).post('/api/auth/sign-up/email').send(ACCOUNT).expect(200);
    const session = await Session.signIn(service.url, ACCOUNT);
    await session.api.POST('/api/v1/subscription/trial');
    const { token } = await dataOf(session.api.POST('/api/v1/auth/tokens', { body: { name: 'day' } }));
    env = { ACCESS_TOKEN: token, VAULT_PASSWORD };
    browser = await openBrowser();
  });
  afterAll(async () => {
    for (const watch of running) await watch.end('SIGKILL');
    await browser.close();
    await link.close();
    site.closeAllConnections();
    site.close();
    await service.close();
    rmSync(home, { recursive: true, force: true });
  });

  const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function watching(machine: Machine): Watch {
    const watch = machine.watch('--interval', '5');
    running.add(watch);
    return watch;
  }

  async function killed(watch: Watch): Promise<void> {
    running.delete(watch);
    await watch.end('SIGKILL');
  }

  it('ends with the same files everywhere despite kills and cuts, and keeps every edit', async () => {
    const one = new Machine(join(home, 'one'), { ...env, SYNC_URL: service.url });
    const two = new Machine(join(home, 'two'), { ...env, SYNC_URL: link.url }); // over a link that is cut
    const made = await one.json(['init', one.folder, '--new', 'Notes', '--device', 'one']);
    const workspace = String(made['workspace']);
    await two.json(['init', two.folder, '--workspace', workspace, '--device', 'two']);
    const alike = (): Promise<Hashes> =>
      eventually(async () => {
        const hashes = hashesOf(one);
        expect(hashesOf(two)).toEqual(hashes);
        expect(await editor.hashes()).toEqual(hashes);
        return hashes;
      });

    // In the morning one device has everything.
    for (let index = 0; index < 30; index++) one.write(`notes/${index % 4}/${index}.md`, `note ${index}`);
    one.write('Bilder/Kraków – Größe.bin', randomBytes(300_000));
    one.write('empty.md', '');
    let [first, second] = [watching(one), watching(two)];
    const editor = await Editor.open(browser, originOf(site), service.url, workspace);
    await alike();
    expect(Object.keys(hashesOf(two))).toHaveLength(32);

    // The page and a folder edit different files.
    await editor.write('from the page.md', 'written in the browser');
    await editor.write('notes/3/3.md', 'edited in the browser');
    two.write('notes/1/1.md', 'edited on two');
    two.rename('notes/2/2.md', 'notes/2/renamed.md');
    await eventually(() =>
      expect(one.files()).toMatchObject({
        'from the page.md': 'written in the browser',
        'notes/3/3.md': 'edited in the browser',
        'notes/1/1.md': 'edited on two',
        'notes/2/renamed.md': 'note 2',
      }),
    );

    // A train with tunnels: the link is cut repeatedly, and both clients are killed while they sync.
    const before = second.mark;
    for (let index = 0; index < 60; index++) one.write(`train/${index}.md`, randomBytes(2_000 + index));
    for (let cuts = 0; cuts < 5; cuts++) {
      link.cut();
      two.write(`tunnel ${cuts}.md`, `written in tunnel ${cuts}`);
      await editor.write(`page ${cuts}.md`, `written beside tunnel ${cuts}`);
    }
    await second.until(({ event }) => event === 'progress' || event === 'synced', before);
    await Promise.all([killed(first), killed(second)]);

    // While no client runs, both devices edit one file.
    one.write('notes/0/0.md', 'edited on one');
    two.write('notes/0/0.md', 'edited on two');
    [first, second] = [watching(one), watching(two)];
    link.cut();
    const end = await alike();

    const texts = Object.values(one.files());
    const saved = ['edited on one', 'written in the browser', 'edited in the browser', 'note 2', ''];
    for (let cuts = 0; cuts < 5; cuts++)
      saved.push(`written in tunnel ${cuts}`, `written beside tunnel ${cuts}`);
    for (const text of saved) expect(texts).toContain(text);
    expect(texts.filter((text) => text === 'edited on two')).toHaveLength(2); // 1.md, and 0.md or its copy
    expect(Object.keys(end)).toHaveLength(32 + 1 + 60 + 10 + 1); // the last one is the conflict copy
    const { versions } = await one.json(['log', join(one.folder, 'notes/3/3.md')]);
    expect(versions).toHaveLength(2);
    for (const watch of [first, second]) {
      running.delete(watch);
      expect(await watch.end('SIGTERM')).toEqual({ code: 0, signal: null });
    }
  });
});
