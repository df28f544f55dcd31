import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { allRoutes, operationsOf } from '../../kit/api-document.js';
import { DEV_LOGIN_KEY, startService } from '../../kit/index.js';
import { exchange, headOf } from '../../kit/raw-http.js';
import { pathTo } from '../../kit/routes/forms.js';
import { nameOf, type Route, ROUTES } from '../../kit/routes/route-table.js';
import { type Scene, setScene } from '../../kit/routes/scene.js';
import { hangUp, send } from '../../kit/routes/send.js';

/** test/kit compares each answer with the document; these tests ask for answers that every route has. */
const document = allRoutes();

const MOUNTED = operationsOf(document).filter(({ path }) => path.startsWith('/api/auth/'));

/** Each operation as a row of the route table; those of the identity handler have rows of their own. */
const EACH: readonly Route[] = [
  ...ROUTES.filter(({ method }) => method !== 'ALL'),
  ...MOUNTED.map(({ method, path }) => ({
    ...{ method: method.toUpperCase() as Route['method'], path, access: 'public' as const },
    example: () => ({ headers: { 'Content-Type': 'application/json' } }),
  })),
];

const documentedStatuses = ({ method, path }: Route): string[] => {
  const template = path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}');
  return Object.keys(document.paths[template]?.[method.toLowerCase()]?.responses ?? {});
};

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
});
afterAll(async () => {
  hangUp();
  await scene.service.close();
});

const proof = () => ({ headers: { Authorization: `Bearer ${scene.owner.user.token}` } });

async function statusOf(route: Route, url: string, ofWhom = proof()): Promise<number> {
  const { target } = scene.owner;
  const example = route.example?.(target) ?? {};
  const path = pathTo(route, example, target);
  return (await send(url, { method: route.method, path }, example, ofWhom)).status;
}

describe('a service that is down', () => {
  beforeAll(() => scene.service.app.get(KillSwitch).set('down'));
  afterAll(async () => {
    await scene.service.app.get(KillSwitch).set('off');
    await scene.service.app.get(KillSwitch).look();
  });

  it.each(EACH)('answers 503 where that is documented: $method $path', async (route) => {
    await scene.service.app.get(KillSwitch).look();
    const isOpen = !documentedStatuses(route).includes('503');
    const status = await statusOf(route, scene.service.url);
    expect([route.path, status]).toEqual([
      route.path,
      isOpen || route.path.startsWith('/health') ? 200 : 503,
    ]);
  });
});

describe('a client that asks too often', () => {
  it('gets 429 where that is documented', async () => {
    const limited = await startService({ beside: scene.service, env: { RATE_LIMIT_PER_MINUTE: '1' } });
    limited.clock.stopAt(limited.clock.now()); // a minute must not begin between two requests
    const asked = proof();
    await statusOf(EACH[0]!, limited.url);
    const answers: [string, boolean][] = [];
    for (const route of EACH) {
      // Transfers of files have fifty times the limit of all other requests.
      let status = 0;
      for (let n = 0; n <= 50 && status !== 429; n++) status = await statusOf(route, limited.url, asked);
      answers.push([nameOf(route), status === 429]);
    }
    await limited.close();
    expect(answers).toEqual(EACH.map((route) => [nameOf(route), documentedStatuses(route).includes('429')]));
  });
});

describe('a body that is declared too large', () => {
  // A route that is 404 for the caller reads no body.
  const WITH_LIMIT = EACH.filter(
    (route) => route.status !== 404 && documentedStatuses(route).includes('413'),
  );

  it.each(WITH_LIMIT)('is 413 before it is sent: $method $path', async (route) => {
    const { target, user } = scene.owner;
    const example = route.example?.(target) ?? {};
    const headers = {
      ...{ Host: new URL(user.url).host, Connection: 'close', 'Content-Type': 'application/json' },
      ...{ Authorization: `Bearer ${user.token}`, 'X-Dev-Login-Key': DEV_LOGIN_KEY },
      ...example.headers,
      'Content-Length': String(10 ** 12),
    };
    const head = headOf(route.method, pathTo(route, example, target), headers);
    expect((await exchange(user.url, head)).status).toBe(413);
  });
});

describe('a request that the identity handler refuses', () => {
  const POSTS = MOUNTED.filter(({ method }) => method === 'post');
  const post = (path: string, body: string, headers: Record<string, string>): Promise<Response> =>
    fetch(scene.service.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
    });

  it.each(POSTS)('is 403 from another site: $path', async ({ path }) => {
    const { cookie } = scene.ownerSession;
    const answer = await post(path, '{}', { Cookie: cookie, Origin: 'https://elsewhere.example.org' });
    expect(answer.status).toBe(403);
  });

  it.each(POSTS)('is 400 for a body that is not JSON: $path', async ({ path }) => {
    expect((await post(path, '{"broken":', {})).status).toBe(400);
  });
});
