import supertest from 'supertest';
import { Invitations } from '../../../src/domain/accounts/index.js';
import { PasswordCost } from '../../../src/domain/auth/index.js';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { shareGreater } from '../../kit/rank-test.js';
import { TestSmtp } from '../../kit/smtp.js';
import { formOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const WRONG = 'wrong horse battery staple';
const HOUR_MS = 60 * 60_000;

/** Requests with an account, and as many without. */
const TIMES = 200;
/** Each address is asked about at most five times, which is what an hour allows. */
const ADDRESSES = 40;
/** Without a difference the share is 0.5 ± 0.03: this is five standard deviations away. */
const BOUNDS = { least: 0.35, most: 0.65 };
/** Other work on the machine may delay one of the sides; a leak of the service shows in each measurement. */
const MEASUREMENTS = 5;

/** A hash takes milliseconds, so that a missing one shows. */
const COST = new PasswordCost({ ln: 11, r: 8, p: 1 }, { ln: 4, r: 1, p: 1 });

let smtp: TestSmtp;
let service: TestService;
beforeAll(async () => {
  smtp = await TestSmtp.start({ isPlain: true });
  const env = { ...smtp.env, RATE_LIMIT_PER_MINUTE: '1000000', TRUST_PROXY: 'true', LOG_LEVEL: 'error' };
  service = await startService({ env, passwordCost: COST });
  for (let at = 0; at < ADDRESSES; at += 4)
    // few at a time, because the number of requests that wait for a hash is limited
    await Promise.all([0, 1, 2, 3].map((offset) => signUp(withAccount(at + offset)).expect(200)));
  await signUp('prober@example.org').expect(200);
  await service.database.query('UPDATE users SET email_verified = true');
});
afterAll(async () => {
  await service.close();
  await smtp.goAway();
});

const forgetMails = (): Promise<unknown> => service.database.query('DELETE FROM mail_queue');

const numbered = (name: string, at: number): string => `${name}-${String(at).padStart(5, '0')}@example.org`;
const withAccount = (at: number): string => numbered('known', at % ADDRESSES);
const withoutAccount = (at: number): string => numbered('other', at % ADDRESSES);

let clients = 0;
/** No two requests come from the same network, so that none is limited by it. */
const nextClient = (): Record<string, string> => {
  const at = clients++;
  return { 'X-Forwarded-For': `10.${(at >> 8) & 255}.${at & 255}.1` };
};

const signUp = (email: string): supertest.Test =>
  supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set({ Origin: BASE_URL, ...nextClient() })
    .send({ email, name: 'Somebody', password: PASSWORD });

interface Request {
  readonly path: string;
  readonly method?: 'GET';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Values in an answer that depend on an address, and are removed like the address; all of one length. */
  readonly secrets?: readonly string[];
}

/** A request to the API. */
const json = (action: string, body: object): Request => ({
  path: `/api/auth/${action}`,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

/** Posts a form of a page. */
function form(visitor: Visitor, page: supertest.Response, label: string) {
  const { action, values } = formOf(page, label);
  return (fields: Record<string, string>): Request => ({
    path: action,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: visitor.cookie },
    body: new URLSearchParams({ ...values, ...fields }).toString(),
  });
}

interface Answer {
  readonly ms: number;
  /** The whole answer, without what differs each time. */
  readonly bytes: string;
}

async function answerTo(
  { path, method, headers, body, secrets = [] }: Request,
  email: string,
): Promise<Answer> {
  const init = {
    method: method ?? 'POST',
    redirect: 'manual',
    headers: { ...headers, ...nextClient() },
  } as const;
  const begun = performance.now();
  const answer = await fetch(service.url + path, body === undefined ? init : { ...init, body });
  let text = await answer.text();
  const ms = performance.now() - begun;
  for (const secret of [email, ...secrets]) text = text.replaceAll(secret, 'SECRET');
  const same = text
    .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME');
  const fields = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
  return { ms, bytes: JSON.stringify([answer.status, fields, same]) };
}

/** Makes the request about an address. */
type Ask = (email: string, at: number) => Request;

interface Route {
  /** Runs before each measurement. */
  readonly begin: () => Promise<Ask> | Ask;
  /** The nth address without an account; by default one that never gets any. */
  readonly unknown?: (at: number) => string;
  /** How many requests run at once; requests that only wait need not run one by one. */
  readonly atOnce?: number;
  /** How long each answer is held back, which is checked even where noise hides a difference. */
  readonly leastMs?: number;
  /** A few answers whose bytes alone are compared: another route that does the same work is timed. */
  readonly isBytesOnly?: true;
}

/** Asks alternately about addresses with and without an account. */
async function measure({ begin, unknown = withoutAccount, atOnce = 1, isBytesOnly }: Route) {
  const ask = await begin();
  const known: Answer[] = [];
  const others: Answer[] = [];
  for (let at = 0; at < (isBytesOnly ? 2 * atOnce : TIMES); at += atOnce) {
    const numbers = Array.from({ length: atOnce }, (_, offset) => at + offset);
    const sides = [
      async () =>
        known.push(
          ...(await asked(
            numbers.map((n) => [withAccount(n), n] as const),
            ask,
          )),
        ),
      async () =>
        others.push(
          ...(await asked(
            numbers.map((n) => [unknown(n), n] as const),
            ask,
          )),
        ),
    ];
    if ((at / atOnce) % 2 === 1) sides.reverse();
    for (const side of sides) {
      await side();
      await forgetMails(); // what follows a request must not slow the next one down
    }
  }
  const share = shareGreater(
    known.map(({ ms }) => ms),
    others.map(({ ms }) => ms),
  );
  const all = [...known, ...others];
  return {
    share,
    bytes: new Set(all.map(({ bytes }) => bytes)),
    least: Math.min(...all.map(({ ms }) => ms)),
  };
}

const asked = (addresses: readonly (readonly [string, number])[], ask: Ask): Promise<Answer[]> =>
  Promise.all(addresses.map(([email, at]) => answerTo(ask(email, at), email)));

/** Neither bytes nor time of the answers depend on whether the address has an account. */
async function expectAlike(route: Route): Promise<void> {
  const shares: number[] = [];
  for (let at = 0; at < MEASUREMENTS; at++) {
    service.clock.advance(2 * HOUR_MS);
    // A delayed answer is late only when the machine is too busy, so it gets fewer requests at once.
    const atOnce = Math.max(1, (route.atOnce ?? 1) >> at);
    const { share, bytes, least } = await measure({ ...route, atOnce });
    expect([...bytes]).toHaveLength(1);
    expect(least).toBeGreaterThanOrEqual(route.leastMs ?? 0);
    if (route.isBytesOnly || (share > BOUNDS.least && share < BOUNDS.most)) return;
    shares.push(share);
  }
  // How often an answer about an account took longer than one without, in each measurement.
  expect({ shares }).toEqual({ shares: [] });
}

/** A browser without a session. */
async function stranger(path: string, label: string) {
  const visitor = new Visitor(service.url);
  return form(visitor, await visitor.get(path), label);
}

let fresh = 0;

/** For all measurements, on a busy machine. */
const LONGEST_MS = 20 * 60_000;

describe('neither bytes nor time of an answer tell whether an address has an account', () => {
  const body = { name: 'Somebody', password: PASSWORD };
  const freshAddress = { unknown: () => numbered('fresh', fresh++), atOnce: 8, leastMs: 149 };

  it(
    'sign-up over the API',
    () => expectAlike({ begin: () => (email) => json('sign-up/email', { email, ...body }), ...freshAddress }),
    LONGEST_MS,
  );

  it(
    'sign-up on the pages',
    () =>
      expectAlike({
        begin: async () => {
          const submit = await stranger('/account', 'Sign up');
          return (email) => submit({ email, ...body });
        },
        ...freshAddress,
        isBytesOnly: true,
      }),
    LONGEST_MS,
  );

  it(
    'a sign-in with a wrong password over the API',
    () => expectAlike({ begin: () => (email) => json('sign-in/email', { email, password: WRONG }) }),
    LONGEST_MS,
  );

  it(
    'a sign-in with a wrong password on the pages',
    () =>
      expectAlike({
        begin: async () => {
          const submit = await stranger('/account', 'Sign in');
          return (email) => submit({ email, password: WRONG });
        },
      }),
    LONGEST_MS,
  );

  it(
    'a forgotten password over the API',
    () => expectAlike({ begin: () => (email) => json('request-password-reset', { email }) }),
    LONGEST_MS,
  );

  it(
    'a forgotten password on the pages',
    () =>
      expectAlike({
        begin: async () => {
          const submit = await stranger('/account/forgot', 'Forgotten password');
          return (email) => submit({ email });
        },
        isBytesOnly: true,
      }),
    LONGEST_MS,
  );

  it(
    'a request for another link to confirm an address',
    () => expectAlike({ begin: () => (email) => json('send-verification-email', { email }) }),
    LONGEST_MS,
  );

  it(
    'a change of the address of an account',
    () =>
      expectAlike({
        begin: async () => {
          const visitor = new Visitor(service.url);
          const values = { email: 'prober@example.org', password: PASSWORD };
          await visitor.submit(await visitor.get('/account'), 'Sign in', values);
          const submit = form(visitor, await visitor.get('/account'), 'Change address');
          return (email) => submit({ email });
        },
      }),
    LONGEST_MS,
  );

  it(
    'an invitation that is opened',
    () =>
      expectAlike({
        begin: async () => {
          const links = new Map<string, string>();
          for (let at = 0; at < ADDRESSES; at++)
            for (const email of [withAccount(at), withoutAccount(at)]) links.set(email, await invited(email));
          const visitor = new Visitor(service.url);
          await visitor.get('/account');
          return (email) => {
            const path = links.get(email)!;
            const secrets = [path.slice(path.indexOf('=') + 1)];
            return { path, method: 'GET', headers: { Cookie: visitor.cookie }, secrets };
          };
        },
      }),
    LONGEST_MS,
  );
});

/** The path of an invitation's link, for an address that may have got an account since. */
async function invited(email: string): Promise<string> {
  const hide = `UPDATE users SET email = $2 WHERE email = $1`;
  await service.database.query(hide, [email, `hidden-${email}`]);
  const { link } = await service.app.get(Invitations).invite(email, { actor: 'operator' });
  await service.database.query(hide, [`hidden-${email}`, email]);
  return link.slice(BASE_URL.length);
}
