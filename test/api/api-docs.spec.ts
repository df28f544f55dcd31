import type { ApiDocument } from '../../src/api-docs/index.js';
import { operationsOf } from '../kit/api-document.js';
import { startService, type TestService } from '../kit/index.js';

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
  ['/docs/page.css', 'text/css; charset=utf-8'],
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

describe('GET /docs', () => {
  let html: string;
  let document: ApiDocument;
  beforeAll(async () => {
    html = await (await get('/docs')).text();
    document = (await (await get('/openapi.json')).json()) as ApiDocument;
  });

  it('shows every operation, with each of its statuses, and every schema', () => {
    for (const { operation } of operationsOf(document)) {
      const [article = ''] =
        html.split(`<article id="${operation.operationId}">`)[1]?.split('</article>') ?? [];
      const statuses = [...article.matchAll(/<dt class="(?:good|error)">(\d+)<\/dt>/g)].map(
        ([, status]) => status,
      );
      expect([operation.operationId, statuses]).toEqual([
        operation.operationId,
        Object.keys(operation.responses),
      ]);
      expect(article).toContain('<pre class="curl">curl ');
    }
    for (const name of Object.keys(document.components.schemas))
      expect(html).toContain(`<article id="schema-${name}">`);
  });

  it('has only links that lead somewhere, and none to other sites', () => {
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    const links = [...html.matchAll(/ href="([^"]+)"/g)].map(([, href = '']) => href);
    expect(links.filter((href) => href.startsWith('#') && !ids.has(href.slice(1)))).toEqual([]);
    const elsewhere = links.filter((href) => !href.startsWith('#'));
    expect([...new Set(elsewhere)].sort()).toEqual(['/docs/page.css', '/openapi.json', 'data:,']);
    expect(ids.size).toBe([...html.matchAll(/ id="/g)].length);
  });

  it('works without scripts and blocks them', async () => {
    expect(html).not.toMatch(/<script|<style| style="| on\w+="|<img|<iframe/i);
    const policy = (await get('/docs')).headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none'; style-src 'self';/);
    expect(policy).toContain("frame-ancestors 'none'");
  });
});
