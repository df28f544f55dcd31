import supertest from 'supertest';
import { PasswordCost } from '../../src/domain/auth/index.js';
import { BASE_URL, startService, type TestService } from './index.js';
import { shareGreater } from './rank-test.js';
import { TestSmtp } from './smtp.js';
import { formOf, Visitor } from './visitor.js';
import { useInTests } from './use-in-tests.js';

export const PASSWORD = 'correct horse battery staple';
const HOUR_MS = 60 * 60_000;

/** Requests with an account, and as many without. */
const TIMES = 200;

/** Each address is asked about at most five times, which is what an hour allows. */
export const ADDRESSES = 40;

/** Without a difference the share is 0.5 ± 0.03: this is five standard deviations away. */
const BOUNDS = { least: 0.35, most: 0.65 };

/** Other work on the machine may delay one of the sides; a leak of the service shows in each measurement. */
const MEASUREMENTS = 5;

/** A hash takes milliseconds, so that a missing one shows. */
const COST = new PasswordCost({ ln: 11, r: 8, p: 1 }, { ln: 4, r: 1, p: 1 });

export const numbered = (name: string, at: number): string =>
  `${name}-${String(at).padStart(5, '0')}@example.org`;

export const withAccount = (at: number): string => numbered('known', at % ADDRESSES);
export const withoutAccount = (at: number): string => numbered('other', at % ADDRESSES);

interface Request {
  readonly path: string;
  readonly method?: 'GET';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Values in an answer that depend on an address, and are removed like the address; all of one length. */
  readonly secrets?: readonly string[];
}

/** A request to the API. */
export const json = (action: string, body: object): Request => ({
  path: `/api/auth/${action}`,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

/** Posts a form of a page. */
export function form(visitor: Visitor, page: supertest.Response, label: string) {
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

/** For all measurements, on a busy machine. */
export const LONGEST_MS = 20 * 60_000;

/** Call outside of all tests. A service with accounts, half of whose addresses are asked about. */
export function useTimedAnswers(): TimedAnswers {
  return useInTests(new TimedAnswers());
}

export class TimedAnswers {
  smtp!: TestSmtp;
  service!: TestService;
  clients = 0;

  readonly open = async () => {
    this.smtp = await TestSmtp.start({ isPlain: true });
    const env = {
      ...this.smtp.env,
      RATE_LIMIT_PER_MINUTE: '1000000',
      TRUST_PROXY: 'true',
      LOG_LEVEL: 'error',
    };
    this.service = await startService({ env, passwordCost: COST });
    for (let at = 0; at < ADDRESSES; at += 4)
      // few at a time, because the number of requests that wait for a hash is limited
      await Promise.all([0, 1, 2, 3].map((offset) => this.signUp(withAccount(at + offset)).expect(200)));
    await this.signUp('prober@example.org').expect(200);
    await this.service.database.query('UPDATE users SET email_verified = true');
  };

  readonly close = async () => {
    await this.service.close();
    await this.smtp.goAway();
  };

  readonly forgetMails = (): Promise<unknown> => this.service.database.query('DELETE FROM mail_queue');

  /** No two requests come from the same network, so that none is limited by it. */
  readonly nextClient = (): Record<string, string> => {
    const at = this.clients++;
    return { 'X-Forwarded-For': `10.${(at >> 8) & 255}.${at & 255}.1` };
  };

  readonly signUp = (email: string): supertest.Test =>
    supertest(this.service.url)
      .post('/api/auth/sign-up/email')
      .set({ Origin: BASE_URL, ...this.nextClient() })
      .send({ email, name: 'Somebody', password: PASSWORD });

  async answerTo({ path, method, headers, body, secrets = [] }: Request, email: string): Promise<Answer> {
    const init = {
      method: method ?? 'POST',
      redirect: 'manual',
      headers: { ...headers, ...this.nextClient() },
    } as const;
    const begun = performance.now();
    const answer = await fetch(this.service.url + path, body === undefined ? init : { ...init, body });
    let text = await answer.text();
    const ms = performance.now() - begun;
    for (const secret of [email, ...secrets]) text = text.replaceAll(secret, 'SECRET');
    const same = text
      .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME');
    const fields = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
    return { ms, bytes: JSON.stringify([answer.status, fields, same]) };
  }

  /** Asks alternately about addresses with and without an account. */
  async measure({ begin, unknown = withoutAccount, atOnce = 1, isBytesOnly }: Route) {
    const ask = await begin();
    const known: Answer[] = [];
    const others: Answer[] = [];
    for (let at = 0; at < (isBytesOnly ? 2 * atOnce : TIMES); at += atOnce) {
      const numbers = Array.from({ length: atOnce }, (_, offset) => at + offset);
      const sides = [
        async () =>
          known.push(
            ...(await this.asked(
              numbers.map((n) => [withAccount(n), n] as const),
              ask,
            )),
          ),
        async () =>
          others.push(
            ...(await this.asked(
              numbers.map((n) => [unknown(n), n] as const),
              ask,
            )),
          ),
      ];
      if ((at / atOnce) % 2 === 1) sides.reverse();
      for (const side of sides) {
        await side();
        await this.forgetMails(); // what follows a request must not slow the next one down
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

  readonly asked = (addresses: readonly (readonly [string, number])[], ask: Ask): Promise<Answer[]> =>
    Promise.all(addresses.map(([email, at]) => this.answerTo(ask(email, at), email)));

  /** Neither bytes nor time of the answers depend on whether the address has an account. */
  async expectAlike(route: Route): Promise<void> {
    const shares: number[] = [];
    for (let at = 0; at < MEASUREMENTS; at++) {
      this.service.clock.advance(2 * HOUR_MS);
      // A delayed answer is late only when the machine is too busy, so it gets fewer requests at once.
      const atOnce = Math.max(1, (route.atOnce ?? 1) >> at);
      const { share, bytes, least } = await this.measure({ ...route, atOnce });
      expect([...bytes]).toHaveLength(1);
      expect(least).toBeGreaterThanOrEqual(route.leastMs ?? 0);
      if (route.isBytesOnly || (share > BOUNDS.least && share < BOUNDS.most)) return;
      shares.push(share);
    }
    // How often an answer about an account took longer than one without, in each measurement.
    expect({ shares }).toEqual({ shares: [] });
  }

  /** A browser without a session. */
  async stranger(path: string, label: string) {
    const visitor = new Visitor(this.service.url);
    return form(visitor, await visitor.get(path), label);
  }
}
