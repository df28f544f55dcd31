import { renderToString } from 'preact-render-to-string';
import { AccountSuspended } from '../../../src/access/index.js';
import { errorPage } from '../../../src/web/layout/error-page.js';
import { readmePage } from '../../../src/web/layout/home.js';
import { startService, type TestService } from '../../kit/index.js';

const textOf = (html: string): string => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');

function pageOf(status: number, retryAfter?: string): string {
  const failure = { host: 'sync.example.org', status, detail: 'why', requestId: 'request-1', retryAfter };
  return renderToString(errorPage(failure));
}

describe('the page of an error', () => {
  it.each([
    [400, 'start again from there'],
    [401, 'Sign in to your account'],
    [403, 'ask the operator'],
    [404, 'may be misspelt'],
    [408, 'Check your connection'],
    [409, 'reload the page and try again'],
    [413, 'send less'],
    [415, 'fill in the form again'],
    [429, 'Wait 1 minute, then try again'],
    [500, 'give the number of the request to the operator of this service'],
    [503, 'Wait 1 minute, then try again'],
    [507, 'Delete what you no longer need'],
  ])('says what to do: %d', (status, advice) => {
    const text = textOf(pageOf(status));
    expect(text).toContain(advice);
    expect(text).toContain(`${status}: why.`);
    expect(text).not.toMatch(/try again later/i);
  });

  it('says that an account is suspended, and whom to ask', () => {
    const failure = { host: 'sync.example.org', status: 403, requestId: 'request-1' };
    const text = textOf(renderToString(errorPage({ ...failure, detail: new AccountSuspended().message })));
    expect(text).toContain('This account is suspended');
    expect(text).toContain('Its data is kept. Ask the operator');
  });

  it('says how long to wait, as Retry-After does', () => {
    for (const [seconds, wait] of [
      ['1', 'Wait 1 second,'],
      ['40', 'Wait 40 seconds,'],
      ['60', 'Wait 1 minute,'],
      ['61', 'Wait 2 minutes,'],
    ] as const)
      for (const status of [429, 503]) expect(textOf(pageOf(status, seconds))).toContain(wait);
  });

  it('links to the account, the API and the readme, like every page', () => {
    for (const to of ['/', '/account', '/docs', '/readme']) expect(pageOf(404)).toContain(`href="${to}"`);
    expect(pageOf(401)).toMatch(/<a href="\/account">Sign in<\/a>/);
  });
});

describe('the pages of a service', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  const look = async (path: string): Promise<string> =>
    (await fetch(service.url + path, { headers: { Accept: 'text/html' } })).text();

  it.each(['/', '/account', '/docs', '/docs/files', '/readme', '/nothing', '/auth/web-handoff'])(
    'have one header, with links to the parts of the site: %s',
    async (path) => {
      const [header = ''] = /<header class="masthead">.*?<\/header>/.exec(await look(path)) ?? [];
      expect([...header.matchAll(/ href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
        ...['/', '/account', '/docs', '/readme'],
      ]);
      const current = [...header.matchAll(/<a href="([^"]+)" aria-current="page">/g)].map(([, href]) => href);
      const place = `/${path.split('/')[1] ?? ''}`;
      expect(current).toEqual(['/account', '/docs', '/readme'].includes(place) ? [place] : []);
    },
  );

  it('include the readme, which programs get as plain text', async () => {
    const text = await fetch(`${service.url}/readme`);
    expect(text.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(text.headers.get('vary')).toMatch(/\baccept\b/i);
    const page = await look('/readme');
    expect(page).toContain('<h1>Cloud Sync Service</h1>');
    expect(page).toContain('<strong>integrate</strong>');
    expect(page).toMatch(/<pre[^>]*>npm ci &amp;&amp; npm start/);
    expect(textOf(page)).toContain((await text.text()).split('\n')[2]);
  });

  it('have a readme without broken links, unsafe links and raw HTML', async () => {
    const page = await look('/readme');
    const hrefs = [...page.matchAll(/<a href="([^"]+)"/g)].map(([, href]) => href!);
    expect(hrefs).toContain('/openapi.json');
    for (const href of new Set(hrefs.filter((one) => one.startsWith('/'))))
      expect([href, (await fetch(service.url + href)).status]).toEqual([href, 200]);
    expect(hrefs.filter((href) => !/^(\/|https:)/.test(href))).toEqual([]);
    expect(page).not.toContain('<img src="docs');

    const hostile = [
      '# A <script>alert(1)</script>',
      '<img src=x onerror=alert(1)> and <b onclick="x()">bold</b>',
      '[a](javascript:alert(1)) [b](data:text/html,x) [c](//evil.example) [d](constructor) [e](/account)',
      '![i](https://evil.example/i.png) `<i>` <https://example.org/?a="b">',
      '| <iframe> | b |\n|---|---|\n| <style>*{}</style> | [x](JaVaScRiPt:1) |',
      '```"><script>\n</pre><script>alert(1)</script>\n```',
    ].join('\n\n');
    const html = renderToString(readmePage({ host: 'example.org', text: hostile }));
    const [, body = ''] = /<div class="readme">([^]*)<\/main>/.exec(html) ?? [];
    expect(body).not.toMatch(/<(script|img|b|iframe|style|i)\b/i);
    expect(body).not.toMatch(/<[^>]*\son\w+=/i);
    const targets = [...body.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href);
    expect(targets).toEqual(['https://example.org/?a=&quot;b&quot;']);
  });

  it('say how long to wait when there were too many requests', async () => {
    const limited = await startService({ beside: service, env: { RATE_LIMIT_PER_MINUTE: '1' } });
    limited.clock.stopAt(new Date('2026-03-01T12:00:20Z'));
    const pages: string[] = [];
    for (let n = 0; n < 2; n++)
      pages.push(await (await fetch(`${limited.url}/docs`, { headers: { Accept: 'text/html' } })).text());
    await limited.close();
    expect(textOf(pages[1] ?? '')).toMatch(/Too many requests.*Wait \d+ seconds, then try again\./);
  });
});
