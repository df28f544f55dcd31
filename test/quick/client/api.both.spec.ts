import { readFileSync } from 'node:fs';
import supertest from 'supertest';
import {
  dataOf,
  Handoff,
  handoffCode,
  SecondFactorRequired,
  Session,
} from '../../../client/src/core/api/index.js';
import { isRepeatable } from '../../../client/src/core/api/repeatable.js';
import { SignInRequired } from '../../../client/src/core/http/index.js';
import { documentText } from '../../kit/api-document.js';
import { FaultProxy } from '../../kit/fault-proxy.js';
import { startService, type TestService } from '../../kit/index.js';
import { turnOnFactor } from '../../kit/second-factor.js';
import { itDeep } from '../../kit/rounds.js';

const PASSWORD = 'correct horse battery staple';

let service: TestService;
let proxy: FaultProxy;
let people = 0;
beforeAll(async () => {
  service = await startService();
  proxy = await FaultProxy.before(service.url);
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});
beforeEach(() => {
  proxy.heal();
  proxy.requests.length = 0;
});

async function person() {
  const account = { email: `person-${++people}@example.org`, password: PASSWORD };
  await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .send({ name: 'Ada', ...account })
    .expect(200);
  return account;
}

const me = async (session: Session) => (await dataOf(session.api.GET('/api/v1/auth/me'))).email;

describe('the types of the API document', () => {
  itDeep('are those of docs/openapi.json; `npm run openapi` writes them', async () => {
    const script = new URL('../../../scripts/client-schema.mjs', import.meta.url).href;
    const { schemaText } = (await import(script)) as { schemaText: () => Promise<string> };
    const file = new URL('../../../client/src/core/api/schema.ts', import.meta.url);
    expect(readFileSync(file, 'utf8').split('\n')).toEqual((await schemaText()).split('\n'));
  });

  it('mark every GET, PUT and DELETE, and some POST requests, as safe to repeat', () => {
    const { paths } = JSON.parse(documentText()) as { paths: Record<string, Record<string, unknown>> };
    const all = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const repeatable = all.filter((one) => isRepeatable(...(one.split(' ') as [string, string])));
    expect(repeatable.filter((one) => /^(POST|PATCH)/.test(one)).sort()).toEqual([
      'POST /api/assets/batch-delete',
      'POST /api/auth/sign-out',
      'POST /api/v1/devices/push-subscription',
      'POST /api/v1/subscription/trial',
      'POST /api/v1/workspaces/{id}/files/batch-download',
      'POST /api/v1/workspaces/{id}/files/batch-upload',
      'POST /api/v1/workspaces/{id}/setup-encryption',
      'POST /api/v1/workspaces/{id}/sync/pull',
      'POST /api/v1/workspaces/{id}/sync/push',
      'POST /api/v1/workspaces/{id}/verify-password',
    ]);
    expect(all.filter((one) => /^(GET|PUT|DELETE)/.test(one) && !repeatable.includes(one))).toEqual([]);
  });
});

describe('a session', () => {
  it('signs in with email and password, whatever the spelling of the address', async () => {
    const account = await person();
    for (const address of [service.url, `${service.url}/`, `${service.url}//`])
      expect(await me(await Session.signIn(address, account))).toBe(account.email);
    const wrong = Session.signIn(service.url, { ...account, password: 'another password' });
    await expect(wrong).rejects.toMatchObject({ name: 'ApiError', status: 401 });
    await expect(Session.signIn('ftp://example.org', account)).rejects.toThrow(TypeError);
  });

  it('reports that an account with a second factor needs the handoff page or a token', async () => {
    const account = await person();
    const session = await Session.signIn(service.url, account);
    await turnOnFactor(service, session.sessionToken ?? '');
    const signingIn = Session.signIn(service.url, account);
    await expect(signingIn).rejects.toThrow(SecondFactorRequired);
    await expect(signingIn).rejects.toThrow(/handoff.*personal access token/);
  });

  it('signs in with the callback address of its own handoff alone', async () => {
    const account = await person();
    const browser = await Session.signIn(service.url, account);
    const oneTime = async () => {
      const headers = { authorization: `Bearer ${browser.sessionToken ?? ''}` };
      const answer = await fetch(`${service.url}/api/auth/one-time-token/generate`, { headers });
      return ((await answer.json()) as { token: string }).token;
    };
    const handoff = await Handoff.begin(service.url);
    const page = await (await fetch(handoff.url)).text();
    expect(page).toContain(handoff.code);
    const state = new URL(handoff.url).searchParams.get('client_state') ?? '';
    const callback = `cloud-sync://auth/callback?token=${await oneTime()}&client_state=${state}`;
    const session = await handoff.finish(` ${callback}\n`);
    expect(await me(session)).toBe(account.email);
    await expect(handoff.finish(callback)).rejects.toMatchObject({ name: 'ApiError' });
    const other = `cloud-sync://auth/callback?token=${await oneTime()}&client_state=${'x'.repeat(32)}`;
    await expect(handoff.finish(other)).rejects.toThrow(/does not belong to this attempt/);
    await expect(handoff.finish('no address')).rejects.toThrow(TypeError);
  });

  it('computes the code that the handoff page shows', async () => {
    expect(await handoffCode('a-state-of-the-app_0123456789')).toBe('J7C8-W8QA');
  });

  it('can be resumed with a stored token, and ends with a sign-out', async () => {
    const session = await Session.signIn(service.url, await person());
    const resumed = Session.resume(service.url, session.sessionToken ?? '');
    expect(await me(resumed)).toBe(await me(session));
    await resumed.signOut();
    await expect(me(Session.resume(service.url, session.sessionToken ?? ''))).rejects.toThrow(SignInRequired);
  });

  it('works with a personal access token, which is not renewed', async () => {
    const session = await Session.signIn(service.url, await person());
    const minting = session.api.POST('/api/v1/auth/tokens', {
      body: { name: 'x', scopes: ['documents:read'] },
    });
    const { token, id } = await dataOf(minting);
    const tool = Session.withAccessToken(proxy.url, token);
    expect((await dataOf(tool.api.GET('/api/v1/workspaces'))).workspaces).toEqual([]);
    await session.api.DELETE('/api/v1/auth/tokens/{id}', { params: { path: { id } } });
    proxy.requests.length = 0;
    await expect(tool.api.GET('/api/v1/workspaces')).rejects.toMatchObject({ status: 401 });
    expect(proxy.requests).toHaveLength(1);
  });

  it('renews its token once when the service refuses it for many requests', async () => {
    const account = await person();
    const session = await Session.signIn(proxy.url, account);
    await me(session);
    proxy.requests.length = 0;
    let refusals = 10;
    proxy.set(({ path }) =>
      path === '/api/v1/auth/me' && refusals-- > 0 ? { kind: 'answer', status: 401 } : undefined,
    );
    const emails = await Promise.all(Array.from({ length: 10 }, () => me(session)));
    expect(emails).toEqual(Array(10).fill(account.email));
    expect(proxy.requests.filter(({ path }) => path === '/api/auth/token')).toHaveLength(1);
  });

  it('has a token in the address of each socket', async () => {
    const session = await Session.signIn(proxy.url, await person());
    const urls = await Promise.all([session.socketUrl('/x'), session.socketUrl('/x')]);
    for (const url of urls) expect(url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/x\?token=[\w.-]+$/);
    const tool = Session.withAccessToken('https://example.org/sync/', 'a+token');
    expect(await tool.socketUrl('/x')).toBe('wss://example.org/sync/x?token=a%2Btoken');
  });

  it('repeats a GET after a lost answer, but not a POST that creates', async () => {
    const account = await person();
    const session = await Session.signIn(proxy.url, account, { sleep: () => Promise.resolve() });
    await session.api.POST('/api/v1/subscription/trial');
    const cuts = [true];
    proxy.set(({ path }) =>
      path.startsWith('/api/v1/workspaces') && cuts.pop() ? { kind: 'cut after sending' } : undefined,
    );
    const creating = session.api.POST('/api/v1/workspaces', { body: { name: 'notes' } });
    await expect(creating).rejects.toMatchObject({ name: 'NetworkError' });
    cuts.push(true);
    const { workspaces } = await dataOf(session.api.GET('/api/v1/workspaces'));
    expect(workspaces).toHaveLength(1);
  });
});
