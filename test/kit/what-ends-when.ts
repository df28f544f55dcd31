import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { AccountDeletion } from '../../src/domain/accounts/index.js';
import { AccessTokens } from '../../src/domain/auth/access-tokens/index.js';
import {
  EmailChange,
  EndedSessions,
  FactorReset,
  PasswordRecovery,
  PasswordReset,
  ProviderLinks,
  Suspensions,
  UserSessions,
  Users,
} from '../../src/domain/auth/index.js';
import { TokenWatch } from '../../src/domain/realtime/token-watch.js';
import { adminJson } from './admin.js';
import { TestAuthenticator } from './authenticator.js';
import { TestVault } from './automation.js';
import { text } from './deployment.js';
import {
  BASE_URL,
  createDatabase,
  eventually,
  startService,
  type TestDatabase,
  type TestService,
  TestSocket,
  TestUser,
} from './index.js';
import { OidcProvider } from './oidc-provider.js';
import { type TestFactor, turnOnFactor } from './second-factor.js';
import { TestSmtp } from './smtp.js';
import { Visitor } from './visitor.js';
import { firstOf } from './rounds.js';

const PASSWORD = 'correct horse battery staple';
const NEW_PASSWORD = `${PASSWORD}!`;
const SECRET = { AUTH_SECRET: 'the same for whatever restores a backup' };

let home: string;
let smtp: TestSmtp;
let provider: OidcProvider;
/** The instance on which the account is changed. */
let service: TestService;
/** The instance on which the credentials are tried. */
let other: TestService;
/** The services that have not been closed. */
const running: TestService[] = [];
/** The databases that backups were restored into. */
const restored: TestDatabase[] = [];
async function open(): Promise<void> {
  home = await mkdtemp(join(tmpdir(), 'sync-what-ends-'));
  smtp = await TestSmtp.start();
  provider = await OidcProvider.start({ serviceUrl: BASE_URL });
  await startBoth();
}

async function close(): Promise<void> {
  await closeBoth();
  for (const database of restored.splice(0)) await database.drop();
  provider.close();
  await smtp.goAway();
  await rm(home, { recursive: true, force: true });
}

/** @param at the service whose database and directory they share; new ones by default */
async function startBoth(at?: TestService): Promise<void> {
  const env = {
    ...SECRET,
    ...smtp.env,
    ...provider.env,
    EMAIL_VERIFICATION: 'optional',
    SUBSCRIPTIONS: 'off',
    RATE_LIMIT_PER_MINUTE: '0',
  };
  service = await startService({ env, beside: at });
  running.push(service);
  other = await startService({ env, beside: service });
  running.push(other);
}

async function closeBoth(): Promise<void> {
  for (let last = running.pop(); last; last = running.pop()) await last.close();
}

/** A user with every kind of credential. */
interface Person {
  readonly id: string;
  readonly email: string;
  readonly session: string;
  readonly sessionId: string;
  readonly jwt: string;
  readonly otherSession: string;
  readonly otherJwt: string;
  readonly oneTimeToken: string;
  readonly pat: string;
  readonly patId: string;
  readonly ofJwt: SocketAndVault;
  readonly ofPat: SocketAndVault;
  readonly passkey: TestAuthenticator;
  readonly factor: TestFactor | undefined;
  /** The cookie of a sign-in that waits for a code. */
  readonly waiting: string;
  /** A link that confirms another address. */
  readonly link: string;
  /** A link for a new password. */
  readonly resetLink: string;
}

/** What a JWT or an access token has opened. */
interface SocketAndVault {
  readonly at: TestService;
  readonly socket: TestSocket;
  readonly vault: TestVault;
}

function identity(method: 'get' | 'post', action: string, session?: string, at = service): supertest.Test {
  const request = supertest(at.url)[method](`/api/auth/${action}`).set('Origin', BASE_URL);
  return session === undefined ? request : request.set('Authorization', `Bearer ${session}`);
}

const cookieOf = (answer: supertest.Response): string =>
  (answer.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]).join('; ');

const signIn = (email: string, password = PASSWORD): supertest.Test =>
  identity('post', 'sign-in/email', undefined, other).send({ email, password });

async function jwtOf(session: string): Promise<string> {
  return (await identity('get', 'token', session).expect(200)).body.token;
}

/** The token of the newest link to a page in a mail, other than `earlier`. */
const linkTo = (page: string, email: string, earlier?: string): Promise<string> =>
  eventually(() => {
    const link = new RegExp(`/account/${page}\\?token=([\\w-]{43})\\n`, 'g');
    const tokens = smtp
      .to(email)
      .flatMap(({ text }) => [...text.matchAll(link)].map(([, token]) => token!))
      .filter((token) => token !== earlier);
    expect(tokens).not.toEqual([]);
    return tokens.at(-1)!;
  });

let people = 0;
async function personWith({ isProven = true, hasFactor = true } = {}): Promise<Person> {
  const name = `person-${++people}`;
  const email = `${name}@example.org`;
  const signedUp = await identity('post', 'sign-up/email')
    .send({ email, name, password: PASSWORD })
    .expect(200);
  const id = String(signedUp.body.user.id);
  if (isProven) await confirm(email);
  const session = String(signedUp.body.token);
  const otherSession = String((await signIn(email).expect(200)).body.token);
  const passkey = await addPasskey(session);
  const factor = hasFactor ? await turnOnFactor(service, session) : undefined;
  const jwt = await jwtOf(session);
  const otherJwt = await jwtOf(otherSession);
  const oneTimeToken = (await identity('get', 'one-time-token/generate', otherSession).expect(200)).body
    .token;
  const minted = await bearer(jwt).post('/api/v1/auth/tokens').send({ name: 'laptop' }).expect(201);
  await service.app.get(EmailChange).request(id, `new-${email}`, '203.0.113.1');
  await service.app.get(PasswordRecovery).request(email, '203.0.113.1');
  return {
    ...{ id, email, session, jwt, otherSession, otherJwt, oneTimeToken, passkey, factor },
    sessionId: (await identity('get', 'get-session', session).expect(200)).body.session.id,
    pat: minted.body.token,
    patId: minted.body.id,
    ofJwt: await openedBy(otherJwt, service),
    ofPat: await openedBy(minted.body.token, other),
    waiting: hasFactor ? cookieOf(await signIn(email).expect(200)) : '',
    link: await linkTo('new-address', `new-${email}`),
    resetLink: await linkTo('reset', email),
  };
}

/** A user of whom only a bearer token is known. */
const bearer = (token: string, at = service): TestUser => TestUser.of(at.url, '', token);

async function openedBy(token: string, at: TestService): Promise<SocketAndVault> {
  const workspace = await bearer(token, at).workspace();
  return { at, socket: await TestSocket.join(workspace, 'laptop'), vault: await TestVault.setUp(workspace) };
}

async function addPasskey(session: string): Promise<TestAuthenticator> {
  const authenticator = new TestAuthenticator();
  const asked = await identity('get', 'passkey/generate-register-options', session).expect(200);
  const response = authenticator.register({ challenge: asked.body.challenge, origin: BASE_URL });
  await identity('post', 'passkey/verify-registration', session)
    .set('Cookie', cookieOf(asked))
    .send({ response, name: 'Phone' })
    .expect(200);
  return authenticator;
}

async function signInByPasskey(authenticator: TestAuthenticator): Promise<supertest.Response> {
  const asked = await identity('get', 'passkey/generate-authenticate-options', undefined, other);
  const response = authenticator.assert({ challenge: asked.body.challenge, origin: BASE_URL });
  return identity('post', 'passkey/verify-authentication', undefined, other)
    .set('Cookie', cookieOf(asked))
    .send({ response });
}

async function throughProvider({ email, factor }: Person, isProven = true): Promise<void> {
  const browser = new Visitor(service.url, { Origin: 'null' });
  const left = await browser.submit(await browser.get('/account'), 'Continue with Our Login');
  const address = String(left.headers.refresh).replace(/^0; url=/, '');
  const back = await provider.signIn(address, provider.person(email.replace('@example.org', '')));
  const { status } = await supertest(service.url).get(back).set('Cookie', browser.cookie);
  expect(status).toBe(factor && isProven ? 200 : 303); // the page that asks for the code, or /account
}

/** Submits a form on the page of the link in the mail. */
async function onConfirmPage(email: string, label: string, values: Record<string, string>): Promise<void> {
  const visitor = new Visitor(service.url);
  await visitor.get(`/account/verify?token=${await linkTo('verify', email)}`);
  expect((await visitor.submit(await visitor.get('/account/verify'), label, values)).status).toBe(200);
}

const confirm = (email: string): Promise<void> => onConfirmPage(email, 'Confirm', { password: PASSWORD });

async function resetByLink(person: Person, revokeAccessTokens = false): Promise<void> {
  await service.app.get(PasswordRecovery).request(person.email, '203.0.113.1');
  const token = await linkTo('reset', person.email, person.resetLink);
  const body = { token, newPassword: NEW_PASSWORD, revokeAccessTokens };
  await identity('post', 'reset-password').send(body).expect(200);
}

const change = ({ session }: Person, wishes: object): Promise<unknown> =>
  Promise.resolve(
    identity('post', 'change-password', session)
      .send({ currentPassword: PASSWORD, newPassword: NEW_PASSWORD, ...wishes })
      .expect(200),
  );

/** Restarts both instances on a restored backup. */
async function restoreBackup(): Promise<void> {
  const [backup, dataDir] = [join(home, 'backup'), await mkdtemp(join(home, 'data-'))];
  const before = { ...SECRET, DATABASE_URL: service.database.url, DATA_DIR: service.dataDir };
  await adminJson(before, 'backup', 'create', backup);
  await closeBoth();
  const database = await createDatabase();
  restored.push(database);
  await adminJson({ ...SECRET, DATABASE_URL: database.url, DATA_DIR: dataDir }, 'backup', 'restore', backup);
  await startBoth({ ...service, database, dataDir });
}

type Act = (person: Person) => Promise<unknown>;

interface Trial {
  readonly act: Act;
  readonly isProven?: boolean;
  readonly hasFactor?: boolean;
  /** Whether the action asks for the rows with "if asked". */
  readonly isAsked?: boolean;
}

const BY_USER = { actor: 'user' } as const;

/** The actions that cause each row of the table. */
const TRIALS: Readonly<Record<string, readonly Trial[]>> = {
  'password changed by its owner': [
    { act: (person) => change(person, {}) },
    { act: (person) => change(person, { revokeAccessTokens: true }), isAsked: true },
  ],
  'password reset by a link': [
    { act: (person) => resetByLink(person) },
    { act: (person) => resetByLink(person, true), isAsked: true },
  ],
  'password reset by the operator': [
    { act: ({ id }) => service.app.get(PasswordReset).run(id, NEW_PASSWORD) },
  ],
  'address confirmed, with the password of the account': [
    { act: ({ email }) => confirm(email), isProven: false },
  ],
  'first proof of the address without that password: "start anew", a reset, the provider': [
    {
      act: ({ email }) => onConfirmPage(email, 'Start anew', { new_password: NEW_PASSWORD }),
      isProven: false,
    },
    { act: (person) => resetByLink(person), isProven: false },
    { act: (person) => throughProvider(person, false), isProven: false },
  ],
  'provider linked to an account whose address was proven': [{ act: (person) => throughProvider(person) }],
  'provider disconnected': [
    {
      act: async (person) => {
        await throughProvider(person);
        await service.app.get(ProviderLinks).unlink(person.id, BY_USER, person.sessionId);
      },
    },
  ],
  'second factor or passkey added': [
    { act: ({ session }) => turnOnFactor(service, session), hasFactor: false },
    { act: ({ session }) => addPasskey(session) },
  ],
  'second factor removed by its owner': [
    {
      act: ({ session }) =>
        Promise.resolve(identity('post', 'two-factor/disable', session).send({}).expect(200)),
    },
  ],
  'second factor and passkeys reset by the operator': [
    { act: ({ id }) => service.app.get(FactorReset).run(id) },
  ],
  'other sign-ins ended': [
    { act: ({ id, sessionId }) => service.app.get(UserSessions).endAllBut(id, sessionId, BY_USER) },
    {
      act: ({ session }) =>
        Promise.resolve(identity('post', 'revoke-other-sessions', session).send({}).expect(200)),
    },
    {
      act: ({ session, otherSession: token }) =>
        Promise.resolve(identity('post', 'revoke-session', session).send({ token }).expect(200)),
    },
  ],
  'signed out': [
    { act: ({ session }) => Promise.resolve(identity('post', 'sign-out', session).send({}).expect(200)) },
  ],
  'email address changed': [
    {
      act: async ({ id, email, link }) => {
        const claim = { password: PASSWORD, ip: '203.0.113.1', userAgent: '' };
        expect(await service.app.get(EmailChange).confirm(link, claim)).toBeUndefined();
        // Back to the address under which the credentials are tried.
        await service.database.query('UPDATE users SET email = $2 WHERE id = $1', [id, email]);
      },
    },
  ],
  'access token revoked': [
    { act: ({ id, patId }) => service.app.get(AccessTokens).revoke(id, patId, BY_USER) },
  ],
  'account suspended': [{ act: ({ id }) => service.app.get(Suspensions).suspend(id) }],
  'account deleted': [
    { act: ({ id, email }) => service.app.get(AccountDeletion).delete(id, email, BY_USER) },
  ],
  'backup restored': [{ act: restoreBackup }],
};

const opens = (answer: supertest.Response): boolean => answer.status === 200;

async function isJwtAlive(jwt: string): Promise<boolean> {
  return opens(await bearer(jwt, other).get('/api/v1/workspaces'));
}

async function isSessionAlive(session: string): Promise<boolean> {
  return (await identity('get', 'get-session', session, other)).body?.session !== undefined;
}

/** Uses a new JWT, so that only the end of the key session itself counts. */
async function isKeySessionAlive({ id }: Person, { vault }: SocketAndVault): Promise<boolean> {
  const jwt = await service.app
    .get(Users)
    .signIn(id, {})
    .catch(() => undefined);
  if (jwt === undefined) return false;
  const answer = await bearer(jwt, other).get(`${vault.path}/notes`).set('X-Key-Session', vault.keySession);
  return opens(answer);
}

/** Both end or stay together, as the same credential opened them. */
async function areOpen(person: Person, opened: SocketAndVault): Promise<boolean> {
  const isAlive = await isKeySessionAlive(person, opened);
  if (isAlive) await opened.socket.settled();
  else
    expect(running.includes(opened.at) ? [4401, 4403, 4404] : [1001]).toContain(await opened.socket.closed());
  return isAlive;
}

/** Both links end or stay together. */
async function areLinksAlive({ link, resetLink }: Person): Promise<boolean> {
  const toNewAddress = (await other.app.get(EmailChange).find(link)) !== undefined;
  const toNewPassword = (await other.app.get(PasswordRecovery).addressOf(resetLink)) !== undefined;
  expect({ toNewAddress, toNewPassword }).toEqual({ toNewAddress, toNewPassword: toNewAddress });
  return toNewAddress;
}

async function factorRows({ id }: Person): Promise<boolean> {
  const rows = await service.database.query('SELECT FROM auth_two_factors WHERE user_id = $1 AND verified', [
    id,
  ]);
  return rows.length > 0;
}

/** Tries each credential in the order of the columns; single-use ones come when no other needs them. */
const TRIES: readonly ((person: Person) => Promise<boolean | undefined>)[] = [
  ({ session }) => isSessionAlive(session),
  ({ jwt }) => isJwtAlive(jwt),
  ({ otherSession }) => isSessionAlive(otherSession),
  ({ otherJwt }) => isJwtAlive(otherJwt),
  (person) => areOpen(person, person.ofJwt),
  async ({ oneTimeToken }) =>
    opens(await identity('post', 'one-time-token/verify', undefined, other).send({ token: oneTimeToken })),
  async ({ factor, waiting }) => {
    if (!factor) return undefined;
    const [code] = factor.backupCodes;
    const answer = await identity('post', 'two-factor/verify-backup-code', undefined, other)
      .set('Cookie', waiting)
      .send({ code });
    return opens(answer);
  },
  areLinksAlive,
  ({ pat }) => isJwtAlive(pat),
  (person) => areOpen(person, person.ofPat),
  async ({ passkey }) => opens(await signInByPasskey(passkey)),
  factorRows,
  async ({ email }) => opens(await signIn(email)),
];

/** Runs the checks that every instance makes within five seconds. */
async function everywhere(): Promise<void> {
  for (const { app } of [service, other]) {
    await app.get(EndedSessions).look();
    await app.get(TokenWatch).closeLapsed();
  }
}

async function observed(person: Person): Promise<(boolean | undefined)[]> {
  const seen = [];
  for (const attempt of TRIES) seen.push(await attempt(person));
  return seen;
}

const [head = '', , ...body] = /\| what happens \|[^]*?\n\n/
  .exec(text('docs/guide/security-model.md'))![0]
  .trim()
  .split('\n');
const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const rows = body.map(cellsOf);
export const TABLE = 'the table "What ends when" of the security model';

/** Expects a trial for each row and each column of the table. */
export function expectTrialsOfAll(): void {
  expect(rows.map(([what]) => what).sort()).toEqual(Object.keys(TRIALS).sort());
  expect(cellsOf(head)).toHaveLength(TRIES.length + 1);
}

/** Whether a row of the table is about the password or the address of an account. */
const changesIdentity = (what: string): boolean =>
  /^(?:password|address|first proof|email address)/.test(what);

/**
 * Tries the rows about identity, or all others: together they would take most of a minute, so two test files share them.
 * @param whats their names @throws unless these are exactly the rows
 */
export function describeWhatEndsWhen(isAboutIdentity: boolean, whats: readonly string[]): void {
  const tried = rows.filter(([what = '']) => changesIdentity(what) === isAboutIdentity);
  const missing = tried.filter(([what = '']) => !whats.includes(what));
  if (missing.length > 0 || tried.length !== whats.length)
    throw new Error(`the rows are ${tried.map(([what]) => what).join('; ')}`);
  beforeAll(open);
  afterAll(close);

  describe(TABLE, () => {
    const inOrder = whats.flatMap((what) => tried.filter(([name]) => name === what));
    const trials = inOrder.flatMap(([what = '', ...fates]) =>
      (TRIALS[what] ?? []).map((trial, at) => [`${what} (${at + 1})`, fates, trial] as const),
    );

    it.each(firstOf(2, trials))('holds for: %s', async (_, fates, { act, isAsked = false, ...has }) => {
      const person = await personWith(has);
      await act(person);
      await everywhere();
      const seen = await observed(person);
      const lives = (fate: string): boolean =>
        ['stay', 'stays', 'renewed'].includes(fate) || (fate === 'if asked' && !isAsked);
      const columns = cellsOf(head).slice(1);
      const table = (values: readonly (boolean | undefined)[]): unknown =>
        columns.map((column, at) => [column, at, seen[at] === undefined ? undefined : values[at]]);
      expect(table(seen)).toEqual(table(fates.map(lives)));
      if (fates[0] === 'refused') {
        await service.app.get(Suspensions).resume(person.id);
        expect([await isSessionAlive(person.session), await isJwtAlive(person.otherJwt)]).toEqual([
          true,
          true,
        ]);
      }
    });
  });
}
