import supertest from 'supertest';
import { startService, type TestService, type TestUser, type TestWorkspace } from '../../kit/index.js';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const NOT_UTF8 = { error: expect.stringMatching(/UTF-8$/) };

/** If invalid bytes were replaced, different texts would be stored and compared as the same one. */
describe('text that is not UTF-8', () => {
  let service: TestService;
  let alice: TestUser;
  let workspace: TestWorkspace;
  beforeAll(async () => {
    service = await startService();
    alice = await service.user('alice');
    workspace = await alice.workspace();
  });
  afterAll(() => service.close());

  const post = (path: string, body: Buffer, type = 'application/json'): supertest.Test =>
    supertest(service.url)
      .post(path)
      .set('Content-Type', type)
      .set('X-Workspace-Id', workspace.id)
      .set('Authorization', `Bearer ${alice.token}`)
      .serialize((bytes: unknown) => bytes as string)
      .send(body);

  it('is refused as the password of a sign-up', async () => {
    const body = latin1('{"email":"latin@example.org","name":"L","password":"p\xe4ssword-of-latin"}');
    const answer = await post('/api/auth/sign-up/email', body);
    expect([answer.status, answer.body]).toEqual([400, NOT_UTF8]);
    expect(await service.database.query(`SELECT FROM users WHERE email = 'latin@example.org'`)).toEqual([]);
  });

  it('is refused in the body of every kind of route', async () => {
    const bodies: [string, string][] = [
      ['/api/v1/workspaces', '{"name":"B\xfccher"}'],
      ['/api/v1/webhooks/payment', '{"id":"\xe4"}'],
      ['/api/assets', '{"x":"\xe4","encryptedFilename":"abc","data":"AAAA"}'],
      ['/api/assets', '{"encryptedFilename":"\xe4","data":"AAAA"}'],
    ];
    for (const [path, body] of bodies) {
      const answer = await post(path, latin1(body));
      expect([path, answer.status, answer.body]).toEqual([path, 400, NOT_UTF8]);
    }
    expect(await service.database.query(`SELECT FROM workspaces WHERE name LIKE 'B%cher'`)).toEqual([]);
  });

  it.each([
    ['a raw byte', 'email=a&name=p\xe4ss'],
    ['percent-encoded', 'email=a&name=p%E4ss'],
    ['half a surrogate pair', 'email=a&name=%ED%A0%80'],
  ])('is refused in a form: %s', async (_, form) => {
    const answer = await post('/account', latin1(form), 'application/x-www-form-urlencoded');
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('not UTF-8')]);
  });

  it('is refused in a query, but a lone percent sign is accepted', async () => {
    const answer = await alice.get('/api/v1/workspaces?x=p%E4ss').expect(400);
    expect(answer.body).toEqual(NOT_UTF8);
    await alice.get('/api/v1/workspaces?x=100%&y=p%C3%A4ss').expect(200);
  });
});
