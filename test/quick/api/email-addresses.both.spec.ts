import { CommanderError } from 'commander';
import supertest from 'supertest';
import { adminReport } from '../../kit/admin.js';
import { BASE_URL, DEV_LOGIN_KEY, startService, type TestService } from '../../kit/index.js';
import { Visitor } from '../../kit/visitor.js';
import { firstOf, itDeep } from '../../kit/rounds.js';

const PASSWORD = 'correct horse battery staple';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const admin = (...args: string[]) =>
  adminReport({ DATA_DIR: service.dataDir, DATABASE_URL: service.database.url }, ...args);

const signUp = (email: string): supertest.Test =>
  supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ email, name: 'x', password: PASSWORD });

const signIn = (email: string, password = PASSWORD): supertest.Test =>
  supertest(service.url).post('/api/auth/sign-in/email').set('Origin', BASE_URL).send({ email, password });

const devLogin = (email: string): supertest.Test =>
  supertest(service.url)
    .post('/api/v1/auth/dev-login')
    .set('X-Dev-Login-Key', DEV_LOGIN_KEY)
    .send({ email, name: 'x' });

/** Whether the account page creates an account. */
async function signUpOnPage(email: string): Promise<boolean> {
  const browser = new Visitor(service.url);
  const answer = await browser.submit(await browser.get('/account'), 'Sign up', {
    email,
    name: 'x',
    password: PASSWORD,
  });
  return answer.status === 303;
}

const label = 'd'.repeat(60);
const longest = `${'l'.repeat(254 - 4 * 61 - 4)}@${`${label}.`.repeat(4)}org`;

type Case = readonly [address: string, isOne: boolean];

const ADDRESSES: readonly Case[] = [
  ...firstOf<Case>(2, [
    [longest, true],
    ['ann@example.org', true],
    ["o'neil+notes_1.x-y@mail.example.co", true],
    [`${'a'.repeat(65)}@example.org`, true],
  ]),
  ...firstOf<Case>(4, [
    [`l${longest}`, false],
    ['jörg@example.org', false],
    ['ann@example.org\n', false],
    ['.ann@example.org', false],
    ['ann@exämple.org', false],
    ['ann@localhost', false],
    ['ann.@example.org', false],
    ['an..n@example.org', false],
    ['"ann"@example.org', false],
    ['ann@exa_mple.org', false],
    ['ann@b@example.org', false],
    ['ann', false],
  ]),
];

describe.each(ADDRESSES)('%j', (address, isOne) => {
  /** A different address for each account, valid or invalid for the same reason. */
  const at = (letter: string): string =>
    address.startsWith('.')
      ? address
      : address.length > 250
        ? address.replace('l', letter)
        : letter + address;

  it(isOne ? 'is accepted everywhere' : 'is refused everywhere', async () => {
    expect((await signUp(at('a'))).status).toBe(isOne ? 200 : 400);
    expect((await devLogin(at('b'))).status).toBe(isOne ? 200 : 400);
    expect(await signUpOnPage(at('c'))).toBe(isOne);
    const created = admin('user', 'create', at('e'));
    if (!isOne) {
      await expect(created).rejects.toThrow(CommanderError);
      return;
    }
    await signIn(at('a')).expect(200);
    const { email, password } = await created;
    await signIn(String(email), String(password)).expect(200);
  });
});

itDeep('accounts with an address that is no longer accepted can still be managed', async () => {
  await service.database.query(
    `INSERT INTO users (email, name, email_verified, created_at, updated_at) VALUES ('jörg@example.org', 'Jörg', false, now(), now())`,
  );
  expect(await admin('user', 'show', 'Jörg@Example.org')).toMatchObject({ email: 'jörg@example.org' });
  await admin('user', 'suspend', 'jörg@example.org');
  await admin('subscription', 'grant', 'jörg@example.org', '--status', 'active');
  await admin('user', 'delete', 'jörg@example.org', '--yes');
  await expect(admin('user', 'show', 'jörg@example.org')).rejects.toThrow('there is no account');
});
