import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiDocument } from '../../../src/platform/api-docs/index.js';
import { operationsOf } from '../../kit/api-document.js';
import { startService, type TestService } from '../../kit/index.js';

const hasPython = ((): boolean => {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write('skipped: samples in Python: there is no python3\n');
    return false;
  }
})();

function itWithPython(name: string, test: () => void): void {
  (hasPython ? it : it.skip)(name, test);
}

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(service.url + path, { headers });

describe.each([
  ['/openapi.json', 'application/json; charset=utf-8'],
  ['/docs', 'text/html; charset=utf-8'],
  ['/docs/files', 'text/html; charset=utf-8'],
  ['/docs/schemas', 'text/html; charset=utf-8'],
])('GET %s', (path, type) => {
  it('is public, cacheable and revalidated by its ETag', async () => {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(type);
    expect(answer.headers.get('cache-control')).toBe('public, no-cache');
    const etag = answer.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);

    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await get(path, { 'If-None-Match': known });
      expect([again.status, await again.text()]).toEqual([304, '']);
      expect(again.headers.get('etag')).toBe(etag);
    }
    expect((await get(path, { 'If-None-Match': '"other"' })).status).toBe(200);
  });
});

describe('the pages under /docs', () => {
  /** HTML by path: the index, and every page to which it links. */
  const pages = new Map<string, string>();
  let document: ApiDocument;
  beforeAll(async () => {
    document = (await (await get('/openapi.json')).json()) as ApiDocument;
    const index = await (await get('/docs')).text();
    pages.set('/docs', index);
    const linked = new Set(linksOf(index).map((href) => href.replace(/#.*/, '')));
    for (const path of [...linked].filter((href) => href.startsWith('/docs/')))
      pages.set(path, await (await get(path)).text());
  });

  const pageOf = ({ tags: [tag = ''] }: { tags: readonly string[] }): string =>
    `/docs/${tag.toLowerCase().replace(/\W+/g, '-')}`;

  it('are an index, one page for each tag, and the schemas', () => {
    const groups = document.tags.map(({ name }) => pageOf({ tags: [name] }));
    expect([...pages.keys()].sort()).toEqual(['/docs', '/docs/schemas', ...groups].sort());
  });

  it('list every operation on the index, with the words that its search compares', () => {
    const index = pages.get('/docs') ?? '';
    for (const { method, path, operation } of operationsOf(document)) {
      const [entry = ''] =
        index.match(new RegExp(`<li[^>]*>(?:(?!</li>).)*#${operation.operationId}".*?</li>`)) ?? [];
      expect(entry).toContain(`href="${pageOf(operation)}#${operation.operationId}"`);
      const [, words = ''] = / data-words="([^"]*)"/.exec(entry) ?? [];
      for (const word of [method, path, operation.operationId, operation.summary])
        expect(words).toContain(word.toLowerCase().replaceAll('"', '&quot;'));
    }
  });

  it('show every operation, with each of its statuses and three samples, and every schema', () => {
    for (const { operation } of operationsOf(document)) {
      const article = articleOf(pages.get(pageOf(operation)) ?? '', operation.operationId);
      const statuses = [...article.matchAll(/<dt class="(?:good|error)">(\d+)<\/dt>/g)].map(
        ([, status]) => status,
      );
      expect([operation.operationId, statuses]).toEqual([
        operation.operationId,
        Object.keys(operation.responses),
      ]);
      expect(samplesIn(article).map(({ language }) => language)).toEqual(['curl', 'JavaScript', 'Python']);
    }
    for (const name of Object.keys(document.components.schemas))
      expect(pages.get('/docs/schemas')).toContain(`<article id="schema-${name}">`);
  });

  it('have no broken links, and none to other sites', async () => {
    const idsOn = (html = ''): string[] => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);
    const outside = new Set<string>();
    for (const [address, html] of pages) {
      expect([address, new Set(idsOn(html)).size]).toEqual([address, idsOn(html).length]);
      for (const href of linksOf(html)) {
        const [path = '', id] = href.split('#');
        if (path !== '' && !pages.has(path)) outside.add(path);
        else if (id !== undefined) expect(idsOn(pages.get(path || address))).toContain(id);
      }
    }
    expect([...outside].filter((path) => !path.startsWith('/'))).toEqual([]);
    for (const path of outside) expect([path, (await get(path)).status]).toEqual([path, 200]);
  });

  it('load scripts from the service alone, and have no inline code', async () => {
    for (const html of pages.values()) {
      expect(html).not.toMatch(/<script(?! src="\/auth\/assets\/)|<style| style="| on\w+="|<iframe/i);
      expect(html).not.toMatch(/ src="(?!\/auth\/assets\/)/);
    }
    const policy = (await get('/docs/files')).headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none'; style-src 'self'; script-src 'self';/);
    expect(policy).toContain("form-action 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
  });

  it('are 404 for an unknown group, with an HTML page in a browser', async () => {
    const answer = await get('/docs/unknown', { Accept: 'text/html' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(await (await get('/docs/unknown')).json()).toEqual({ error: 'not found' });
  });

  describe('samples', () => {
    const all = () => [...pages.values()].flatMap((html) => samplesIn(html));
    const directory = mkdtempSync(join(tmpdir(), 'samples-'));
    afterAll(() => rmSync(directory, { recursive: true }));

    const textsIn = (language: string): string[] =>
      all().flatMap((sample) => (sample.language === language ? [sample.text] : []));
    const fileOf = (name: string, text: string): string => {
      writeFileSync(join(directory, name), text);
      return join(directory, name);
    };
    const run = (command: string, args: readonly string[]): string =>
      execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe' });

    it('in curl have valid shell syntax', () => {
      run('sh', ['-n', fileOf('all.sh', textsIn('curl').join('\n'))]);
    });

    it('in JavaScript have valid module syntax', () => {
      const texts = textsIn('JavaScript');
      expect(texts).toHaveLength(operationsOf(document).length);
      run(process.execPath, ['--check', fileOf('all.mjs', texts.map((text) => `{\n${text}\n}`).join('\n'))]);
    });

    itWithPython('in Python have valid syntax', () => {
      const files = textsIn('Python').map((text, index) => fileOf(`sample${index}.py`, text));
      run('python3', ['-m', 'py_compile', ...files]);
    });

    it('use neither PATH as a variable nor TOKEN as part of an address', () => {
      for (const { text } of all()) expect(text).not.toMatch(/[${]PATH\b|\/\$?\{?TOKEN\b/);
    });
  });
});

const linksOf = (html: string): string[] =>
  [...html.matchAll(/ href="([^"]+)"/g)].map(([, href = '']) => href);

const articleOf = (html: string, id: string): string =>
  html.split(`<article id="${id}">`)[1]?.split('</article>')[0] ?? '';

function samplesIn(html: string): { language: string; text: string }[] {
  const found = html.matchAll(/<summary>(curl|JavaScript|Python)<\/summary><pre[^>]*>([^<]*)<\/pre>/g);
  return [...found].map(([, language = '', text = '']) => ({ language, text: unescaped(text) }));
}

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
