import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ListedPage, PAGES } from '../../kit/tour/page-list.js';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The document of the pages, which another test compares with the routes of the service. */
const { paths } = JSON.parse(readFileSync(join(ROOT, 'docs/internals/pages.openapi.json'), 'utf8')) as {
  paths: Record<string, Record<string, { responses: Record<string, { content?: Record<string, unknown> }> }>>;
};

const routesWith = (statuses: readonly string[]): string[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { responses }]) => statuses.some((status) => responses[status]?.content?.['text/html']))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );

/** Routes that answer with a page on success, not only when they refuse. */
const routes = routesWith(['200']);

const pages: [string, ListedPage][] = Object.entries(PAGES);
const listed = pages.map(([, { route }]) => route).filter((route) => route !== undefined);

describe('the list of pages', () => {
  it('has every route that answers with a page', () => {
    expect(routes.length).toBeGreaterThan(30);
    expect(routes.filter((route) => !listed.includes(route))).toEqual([]);
  });

  it('has only routes that exist, and one address that does not', () => {
    const all = routesWith(['200', '422']);
    expect([...new Set<string>(listed)].filter((route) => !all.includes(route))).toEqual(['GET /nothing']);
  });

  it.each(['README.md', 'docs/guide/tour.md', 'docs/guide/sign-in-pages.md', 'docs/operate/tour.md'])(
    'has every picture that %s shows',
    (document) => {
      const text = readFileSync(join(ROOT, document), 'utf8');
      const shown = [...text.matchAll(/screenshots\/([\w-]+\.png)/g)].map(([, file = '']) => file);
      expect(shown.length).toBeGreaterThan(1);
      expect(shown.filter((file) => !existsSync(join(ROOT, 'docs/screenshots', file)))).toEqual([]);
    },
  );
});
