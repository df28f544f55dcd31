import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { AuditLog } from '../../../src/domain/auth/audit/index.js';
import { AccountDeletion, Invitations } from '../../../src/domain/accounts/index.js';
import {
  Administrators,
  EmailChange,
  PasswordRecovery,
  UserSessions,
} from '../../../src/domain/auth/index.js';
import { MailLinks } from '../../../src/domain/auth/mail-links.js';
import { BASE_URL, eventually, startService, type TestService } from '../../kit/index.js';
import { TestAuthenticator } from '../../kit/authenticator.js';
import { OidcProvider } from '../../kit/oidc-provider.js';
import { codesOf, turnOnFactor } from '../../kit/second-factor.js';
import { TestSmtp } from '../../kit/smtp.js';
import { textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const DAY_MS = 24 * 60 * 60_000;

let smtp: TestSmtp;
let provider: OidcProvider;
let service: TestService;
let env: Record<string, string>;
beforeAll(async () => {
  smtp = await TestSmtp.start();
  provider = await OidcProvider.start({ serviceUrl: BASE_URL });
  const mail = { ...smtp.env, EMAIL_VERIFICATION: 'optional' };
  env = { ...mail, ...provider.env, TRUST_PROXY: 'true', RATE_LIMIT_PER_MINUTE: '1200' };
  service = await startService({ env });
});
afterAll(async () => {
  await service.close();
  provider.close();
  await smtp.goAway();
});
beforeEach(async () => {
  await service.database.query('DELETE FROM mail_queue'); // batched mails are due in ten minutes
  smtp.received.length = 0;
});

let hosts = 0;
/** An IP address not used before. */
const newAddress = (): string => `198.51.${100 + Math.floor(++hosts / 250)}.${(hosts % 250) + 1}`;

interface From {
  readonly session?: string;
  readonly ip?: string;
  readonly at?: TestService;
}

function post(action: string, body: object, from: From = {}): supertest.Test {
  const { session, ip = newAddress(), at = service } = from;
  return supertest(at.url)
    .post(`/api/${action}`)
    .set({ Origin: BASE_URL, 'X-Forwarded-For': ip })
    .set(session === undefined ? {} : { Authorization: `Bearer ${session}` })
    .send(body);
}

async function signUp(name: string): Promise<{ id: string; email: string; session: string }> {
  const email = `${name}@example.org`;
  const { body } = await post('auth/sign-up/email', { email, name, password: PASSWORD }).expect(200);
  return { id: body.user.id, email, session: body.token };
}

async function jwtOf(session: string): Promise<string> {
  const answer = await supertest(service.url)
    .get('/api/auth/token')
    .set('Authorization', `Bearer ${session}`)
    .expect(200);
  return answer.body.token as string;
}

/** Adds a passkey to the account of a session. */
async function addPasskey(session: string): Promise<TestAuthenticator> {
  const authenticator = new TestAuthenticator();
  const asked = await supertest(service.url)
    .get('/api/auth/passkey/generate-register-options')
    .set('Authorization', `Bearer ${session}`)
    .expect(200);
  const cookie = (asked.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]).join('; ');
  const response = authenticator.register({ challenge: asked.body.challenge, origin: BASE_URL });
  await post('auth/passkey/verify-registration', { response, name: 'Phone' }, { session })
    .set('Cookie', cookie)
    .expect(200);
  return authenticator;
}

async function signInByPasskey(
  authenticator: TestAuthenticator,
  ip = newAddress(),
): Promise<supertest.Response> {
  const asked = await supertest(service.url).get('/api/auth/passkey/generate-authenticate-options');
  const cookie = (asked.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]).join('; ');
  const response = authenticator.assert({ challenge: asked.body.challenge, origin: BASE_URL });
  return post('auth/passkey/verify-authentication', { response }, { ip }).set('Cookie', cookie);
}

/** The token in the newest mail to an address. */
const linkTo = (email: string, subject: string): Promise<string> =>
  eventually(() => {
    const mail = smtp.to(email).filter(({ headers }) => headers.subject === subject);
    return /[?&]token=([\w-]{43})\n/.exec(mail.at(-1)?.text ?? '')![1]!;
  });

const client = { ip: '203.0.113.200', userAgent: 'a test' };

const confirmChange = (link: string): Promise<unknown> =>
  service.app.get(EmailChange).confirm(link, { ...client, password: PASSWORD });

async function signInAtProvider(name: string, ip = newAddress()): Promise<void> {
  const browser = new Visitor(service.url, { Origin: 'null', 'X-Forwarded-For': ip });
  const left = await browser.submit(await browser.get('/account'), 'Continue with Our Login');
  const address = String(left.headers.refresh).replace(/^0; url=/, '');
  const back = await provider.signIn(address, provider.person(name));
  await supertest(service.url).get(back).set({ Cookie: browser.cookie, 'X-Forwarded-For': ip }).expect(303);
}

describe('a stranger who signed up with another person’s address', () => {
  it('cannot change the address by a link once its owner has signed in through the provider', async () => {
    const stranger = await signUp('ann');
    await service.app.get(EmailChange).request(stranger.id, 'stranger-of-ann@example.org', newAddress());
    const link = await linkTo('stranger-of-ann@example.org', 'Confirm your new email address');
    await signInAtProvider('ann');
    expect(await confirmChange(link)).toBe('INVALID_TOKEN');
  });

  it('loses second factor, passkeys and tokens once the owner resets the password', async () => {
    const stranger = await signUp('bob');
    const authenticator = await addPasskey(stranger.session);
    await turnOnFactor(service, stranger.session);
    const minted = await post(
      'v1/auth/tokens',
      { name: 'mine' },
      { session: await jwtOf(stranger.session) },
    ).expect(201);
    await service.app.get(PasswordRecovery).request(stranger.email, newAddress());
    const token = await linkTo(stranger.email, 'Choose a new password');
    await post('auth/reset-password', { token, newPassword: `${PASSWORD}!` }).expect(200);

    expect((await signInByPasskey(authenticator)).status).toBe(401);
    await supertest(service.url)
      .get('/api/v1/workspaces')
      .set('Authorization', `Bearer ${minted.body.token}`)
      .expect(401);
    const { body } = await post('auth/sign-in/email', { email: stranger.email, password: `${PASSWORD}!` });
    expect(body).toMatchObject({
      user: { email: stranger.email, emailVerified: true, twoFactorEnabled: false },
    });
  });
});

describe('a pending change of the email address', () => {
  it.each<[string, (id: string, session: string) => Promise<unknown>]>([
    ['on the page', (id) => service.app.get(UserSessions).endAllBut(id, null, { actor: 'user' })],
    ['over the API', (_, session) => post('auth/revoke-other-sessions', {}, { session }).expect(200)],
  ])('is cancelled when the user ends the other sessions %s', async (how, end) => {
    const name = `lea-${how.length}`;
    const { id, email, session } = await signUp(name);
    await service.app.get(EmailChange).request(id, `thief-of-${name}@example.org`, newAddress());
    const link = await linkTo(`thief-of-${name}@example.org`, 'Confirm your new email address');
    await post('auth/sign-in/email', { email, password: PASSWORD }).expect(200);
    await end(id, session);
    expect(await confirmChange(link)).toBe('INVALID_TOKEN');
  });
});

it('no link is issued for a mail that is no longer queued', async () => {
  const { id, email } = await signUp('pat');
  const mail = {
    id: randomUUID(),
    userId: id,
    to: email,
    template: 'change-email',
    parameters: {},
    attempts: 1,
  };
  const now = service.clock.now();
  const queued = { ...mail, queuedAt: now, leaseEnds: now };
  const page = { path: '/account/new-address', lifeMs: DAY_MS };
  const target = { userId: id, email: 'other@example.org' };
  expect(await service.app.get(MailLinks).issue(queued, 'change-email', target, page)).toBeUndefined();
});

it('ending other sessions when there are none records no audit event', async () => {
  const { id, session } = await signUp('quinn');
  for (let at = 0; at < 3; at++) await post('auth/revoke-other-sessions', {}, { session }).expect(200);
  const events = `SELECT FROM audit_events WHERE user_id = $1 AND action = 'sessions.ended'`;
  expect(await service.database.query(events, [id])).toEqual([]);
});

describe('mails that a stranger can trigger to an address', () => {
  it('are at most five for repeated sign-ups with a taken address', async () => {
    const { email } = await signUp('cid');
    const strict = await startService({ beside: service, env: { ...env, EMAIL_VERIFICATION: 'required' } });
    const body = { email, name: 'cid', password: PASSWORD };
    try {
      for (let at = 0; at < 12; at++) await post('auth/sign-up/email', body, { at: strict }).expect(200);
    } finally {
      await strict.close();
    }
    await eventually(async () => expect(await service.database.query('SELECT FROM mail_queue')).toEqual([]));
    const taken = smtp.to(email).filter(({ headers }) => headers.subject === 'You have an account already');
    expect(taken.length).toBeLessThanOrEqual(5);
  });

  it('are at most five for an account that is created and deleted repeatedly', async () => {
    for (let at = 0; at < 8; at++) {
      const { email, session } = await signUp('max');
      const jwt = await jwtOf(session);
      const answer = await supertest(service.url)
        .delete('/api/v1/auth/me')
        .set('Authorization', `Bearer ${jwt}`)
        .send({ confirm: email });
      expect(answer.status).toBe(200);
    }
    await eventually(async () => expect(await service.database.query('SELECT FROM mail_queue')).toEqual([]));
    expect(smtp.to('max@example.org').length).toBeLessThanOrEqual(5);
  });

  it('are five of six notices for an account with an unconfirmed address', async () => {
    const { email } = await signUp('dan');
    const [{ id: userId } = { id: '' }] = await service.database.query<{ id: string }>(
      'SELECT id FROM users WHERE email = $1',
      [email],
    );
    const details = { scopes: 'full' };
    for (const action of [
      'factor.added',
      'password.changed',
      'sign-in.new-client',
      'single-sign-on.linked',
      'single-sign-on.unlinked',
      'token.minted',
    ] as const)
      await service.app.get(AuditLog).record({ action, userId, actor: 'user', details });
    await eventually(async () => expect(await service.database.query('SELECT FROM mail_queue')).toEqual([]));
    const subjects = smtp.to(email).map(({ headers }) => headers.subject);
    expect(subjects.filter((subject) => /your account at/i.test(subject!))).toHaveLength(5);
  });
});

const notices = (email: string): unknown[] =>
  smtp.to(email).filter(({ headers }) => /^New sign-in/.test(headers.subject!));

describe('a sign-in from a network not seen before', () => {
  it('with a passkey sends a notice', async () => {
    const { email, session } = await signUp('eve');
    const authenticator = await addPasskey(session);
    expect((await signInByPasskey(authenticator, '203.0.113.77')).status).toBe(200);
    await eventually(() => expect(notices(email)).toHaveLength(1));
  });

  it('through the provider sends a notice', async () => {
    await signInAtProvider('fay', '203.0.113.78');
    await signInAtProvider('fay', '203.0.113.79');
    await eventually(() => expect(notices('fay@example.org')).toHaveLength(1));
  });
});

describe('the password of an administrator', () => {
  const admin = async (headers: Record<string, string>): Promise<number> =>
    (await supertest(service.url).get('/admin').set(headers)).status;
  const promote = (id: string): Promise<boolean> =>
    service.app.get(Administrators).promote(id, { actor: 'operator' });

  async function signInByPassword(email: string): Promise<Visitor> {
    const browser = new Visitor(service.url, { Origin: 'null', 'X-Forwarded-For': newAddress() });
    await browser.submit(await browser.get('/account'), 'Sign in', { email, password: PASSWORD });
    return browser;
  }

  it('does not open the admin page for an account with a passkey; the passkey does', async () => {
    const { id, email, session } = await signUp('joe');
    await promote(id);
    const authenticator = await addPasskey(session);
    const thief = await signInByPassword(email);
    expect(textOf((await thief.get('/account')).text)).toContain(email);
    expect(await admin({ Cookie: thief.cookie })).toBe(404);
    const signedIn = await signInByPasskey(authenticator);
    const cookie = (signedIn.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]).join('; ');
    expect(await admin({ Cookie: cookie })).toBe(200);
  });

  it('does not open the admin page in a session older than the second factor', async () => {
    const { id, email, session } = await signUp('kim');
    await promote(id);
    const thief = await signInByPassword(email);
    const owner = await signInByPassword(email);
    const page = await owner.submit(await owner.get('/account'), 'Set up the second factor');
    const code = codesOf(service, /otpauth:[^"]+/.exec(page.text)![0].replaceAll('&amp;', '&'));
    expect((await owner.submit(page, 'Confirm the second factor', { code: code() })).status).toBe(200);
    expect(await admin({ Cookie: owner.cookie })).toBe(200);
    expect(await admin({ Cookie: thief.cookie })).toBe(404);
    service.clock.advance(30_000);
    await post('auth/two-factor/verify-totp', { code: code() }, { session }).expect(200);
  });
});

const factorsOf = (id: string): Promise<unknown[]> =>
  service.database.query('SELECT FROM auth_two_factors WHERE verified AND user_id = $1', [id]);

describe('an unfinished setup of the second factor', () => {
  it('cannot be completed by a session that is not recent', async () => {
    const { id, session } = await signUp('hal');
    const { body } = await post('auth/two-factor/enable', {}, { session }).expect(200);
    service.clock.advance(16 * 60_000);
    const code = codesOf(service, body.totpURI)();
    await post('auth/two-factor/verify-totp', { code }, { session }).expect(401);
    expect(await factorsOf(id)).toEqual([]);
  });

  it('cannot confirm an account deletion on the pages', async () => {
    const { id, email } = await signUp('ida');
    const browser = new Visitor(service.url);
    await browser.submit(await browser.get('/account'), 'Sign in', { email, password: PASSWORD });
    const page = await browser.submit(await browser.get('/account'), 'Set up the second factor');
    const uri = /otpauth:[^"]+/.exec(page.text)![0].replaceAll('&amp;', '&');
    service.clock.advance(11 * 60_000);
    const again = await browser.get('/account');
    const filledIn = { confirm_email: email, confirm_password: codesOf(service, uri)() };
    const answer = await browser.submit(again, 'Delete account', filledIn);
    expect(answer.status).toBe(422);
    expect(await service.database.query('SELECT FROM users WHERE email = $1', [email])).toHaveLength(1);
    expect(await factorsOf(id)).toEqual([]);
  });
});

describe('unnecessary attack surface', () => {
  it('a passkey name of 256 characters or with control characters is refused', async () => {
    const { id, session } = await signUp('ned');
    await addPasskey(session);
    const [passkey] = await service.database.query('SELECT id FROM auth_passkeys WHERE user_id = $1', [id]);
    for (const name of ['x'.repeat(256), 'a\u202eb\u0007'])
      await post('auth/passkey/update-passkey', { id: passkey!.id, name }, { session }).expect(400);
    await post('auth/passkey/update-passkey', { id: passkey!.id, name: 'Mine' }, { session }).expect(200);
  });

  it('the pages for a forgotten password are 404 where passwords are switched off', async () => {
    const only = await startService({ beside: service, env: { ...env, OIDC_ONLY: 'true' } });
    try {
      const browser = new Visitor(only.url);
      for (const path of ['/account/forgot', '/account/reset']) {
        expect([path, (await browser.get(path)).status]).toEqual([path, 404]);
        expect([path, (await browser.post(path, [['email', 'a@example.org']])).status]).toEqual([path, 404]);
      }
    } finally {
      await only.close();
    }
  });

  it('an invitation is void once its account is deleted', async () => {
    const { link } = await service.app.get(Invitations).invite('Oda@example.org', { actor: 'operator' });
    const { id, email } = await signUp('oda');
    await service.app.get(AccountDeletion).delete(id, email, { actor: 'user' });
    const token = new URL(link).searchParams.get('token')!;
    expect(await service.app.get(Invitations).addressOf(token)).toBeUndefined();
  });
});

describe('a sign-in after 91 days without one', () => {
  it('sends a notice although no network is known any more', async () => {
    const { email } = await signUp('gil');
    service.clock.advance(91 * DAY_MS);
    await post('auth/sign-in/email', { email, password: PASSWORD }, { ip: '203.0.113.80' }).expect(200);
    await eventually(() => expect(notices(email)).toHaveLength(1));
  });
});
