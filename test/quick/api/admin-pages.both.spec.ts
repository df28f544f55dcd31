import type supertest from 'supertest';
import { Administrators, Suspensions } from '../../../src/domain/auth/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import {
  administratorAt,
  giveFactor,
  PASSWORD,
  type Person,
  personAt,
  promote,
  signedInByFactor,
} from '../../kit/administrators.js';
import { startService, type TestService } from '../../kit/index.js';
import { formOf, textOf, Visitor } from '../../kit/visitor.js';
import { firstOf, itDeep } from '../../kit/rounds.js';

const ELEVEN_MINUTES = 11 * 60_000;

let first: TestService;
let second: TestService;
let target: Person;
beforeAll(async () => {
  first = await startService();
  second = await startService({ beside: first });
  target = await personAt(first, 'target');
});
afterAll(async () => {
  await second.close();
  await first.close();
});

const PAGES = ['/admin', '/admin/accounts/ID', '/admin/service', '/admin/invitations', '/admin/audit'];
const FORMS = [
  '/admin/confirm',
  ...['suspend', 'resume', 'end-sessions', 'reset-password', 'grant', 'demote', 'delete'].map(
    (name) => `/admin/accounts/ID/${name}`,
  ),
  '/admin/service/kill-switch',
  '/admin/service/doctor',
  '/admin/invitations',
  '/admin/invitations/revoke',
];
const at = (path: string): string => path.replace('ID', target.id);

const FIELDS = [
  ['confirm', 'target@example.org'],
  ['status', 'active'],
  ['mode', 'down'],
  ['email', 'invited@example.org'],
] as const;

/** A response without its date and request id. */
function said({ status, headers, text }: supertest.Response): object {
  const { 'x-request-id': id, ...others } = headers as Record<string, string>;
  return { status, headers: { ...others, date: '' }, text: id ? text.replaceAll(id, 'ID') : text };
}

/** The rows that an action could have changed. */
const state = (): Promise<object[]> =>
  first.database.query(
    `SELECT (SELECT json_agg(u ORDER BY id) FROM users u)::text AS users,
            (SELECT count(*) FROM auth_sessions WHERE user_id = $1) AS sessions,
            (SELECT count(*) FROM audit_events) AS events, (SELECT count(*) FROM invitations) AS invitations,
            (SELECT count(*) FROM doctor_runs) AS checks, (SELECT count(*) FROM subscriptions) AS subscriptions,
            (SELECT mode FROM kill_switch) AS mode`,
    [target.id],
  );

describe('the account page', () => {
  const said = async ({ browser }: Person): Promise<string> => (await browser.get('/account')).text;

  itDeep('links administrators to the admin page once they have signed in with a second factor', async () => {
    const person = await personAt(first, 'on-the-way');
    expect(await said(person)).not.toContain('administrator of this service');
    await giveFactor(first, person);
    expect(await said(person)).not.toContain('administrator of this service');
    await promote(first, person);
    expect(await said(person)).toContain('href="/admin"');
    await first.database.query('UPDATE auth_sessions SET factor_at = NULL WHERE user_id = $1', [person.id]);
    expect(await said(person)).not.toContain('href="/admin"');
    expect(await said(person)).toContain('once you sign out, and in again');
    await first.database.query('DELETE FROM auth_two_factors WHERE user_id = $1', [person.id]);
    expect(await said(person)).not.toContain('href="/admin"');
    expect(await said(person)).toContain('Its pages open once you have a');
  });
});

describe('/admin for anyone but administrators', () => {
  const CALLERS: readonly (readonly [string, () => Promise<Visitor>])[] = [
    ['a stranger', () => Promise.resolve(new Visitor(second.url))],
    ['a user', async () => (await personAt(second, 'plain')).browser],
    [
      'a demoted administrator',
      async () => {
        const { id, browser } = await administratorAt(second, 'demoted');
        expect((await browser.get('/admin')).status).toBe(200);
        await first.app.get(Administrators).demote(id, { actor: 'operator' });
        return browser;
      },
    ],
    [
      'a user with a second factor',
      async () => {
        const person = await personAt(second, 'with-factor');
        await giveFactor(first, person);
        return person.browser;
      },
    ],
    [
      'a promoted user without a second factor',
      async () => {
        const person = await personAt(second, 'without-factor');
        await promote(first, person);
        await signedInByFactor(first, person); // and has removed it since
        return person.browser;
      },
    ],
    [
      'a promoted user whose second factor is not confirmed',
      async () => {
        const person = await administratorAt(second, 'unconfirmed');
        await first.database.query('UPDATE auth_two_factors SET verified = false WHERE user_id = $1', [
          person.id,
        ]);
        return person.browser;
      },
    ],
    [
      'an administrator in a sign-in that knows only the password',
      async () => {
        const person = await administratorAt(second, 'password-alone');
        await first.database.query('UPDATE auth_sessions SET factor_at = NULL WHERE user_id = $1', [
          person.id,
        ]);
        return person.browser;
      },
    ],
    [
      'a suspended administrator',
      async () => {
        const { id, browser } = await administratorAt(second, 'suspended');
        expect((await browser.get('/admin')).status).toBe(200);
        await first.app.get(Suspensions).suspend(id);
        return browser;
      },
    ],
  ];

  it.each(firstOf(3, CALLERS))('answers like an unknown address: %s', async (_, callerOf) => {
    const caller = await callerOf();
    const before = await state();
    const unknown = said(await caller.get('/nothing-is-here'));
    for (const path of [...PAGES, '/admin/audit?user=%c0%ae'])
      expect([path, said(await caller.get(at(path)))]).toEqual([path, unknown]);
    const unknownForm = said(await caller.post('/nothing-is-here', FIELDS));
    for (const path of FORMS)
      expect([path, said(await caller.post(at(path), FIELDS))]).toEqual([path, unknownForm]);
    expect(await state()).toEqual(before);
  });

  itDeep('answers browsers with the page for unknown addresses', async () => {
    const caller = await personAt(second, 'browsing');
    const asPage = { Accept: 'text/html', Cookie: caller.browser.cookie };
    const pageAt = async (path: string): Promise<object> => {
      const answer = await fetch(second.url + path, { headers: asPage });
      const text = (await answer.text()).replaceAll(answer.headers.get('x-request-id') ?? '', 'ID');
      return { status: answer.status, cookies: answer.headers.getSetCookie(), text };
    };
    const unknown = await pageAt('/nothing-is-here');
    expect(unknown).toMatchObject({ status: 404, text: expect.stringContaining('Page not found') });
    for (const path of PAGES) expect(await pageAt(at(path))).toEqual(unknown);
  });
});

describe('/admin for an administrator who signed in more than ten minutes ago', () => {
  let stale: Person;
  beforeAll(async () => {
    stale = await administratorAt(second, 'stale');
    first.clock.advance(ELEVEN_MINUTES);
  });
  afterAll(() => first.clock.advance(-ELEVEN_MINUTES));
  afterEach(() =>
    first.database.query(
      `UPDATE auth_sessions SET confirmed_at = confirmed_at - interval '11 minutes' WHERE user_id = $1`,
      [stale.id],
    ),
  );

  itDeep.each(PAGES)('shows %s only after the password is confirmed', async (path) => {
    const asked = await stale.browser.get(at(path));
    expect(asked.status).toBe(403);
    expect(textOf(asked.text)).toContain('Confirm that it is you');
    expect(asked.text).not.toContain('target@example.org');

    const wrong = await stale.browser.submit(asked, 'Confirm that it is you', {
      confirm_password: 'wrong one',
    });
    expect(wrong.status).toBe(422);
    expect(textOf(wrong.text)).toContain('This is not your password.');
    const right = await stale.browser.submit(wrong, 'Confirm that it is you', { confirm_password: PASSWORD });
    expect([right.status, right.headers.location]).toEqual([303, at(path)]);
    expect((await stale.browser.get(at(path))).status).toBe(200);
  });

  itDeep.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/administrators',
    '/admin\n',
    '',
  ])('redirects only within /admin: %j', async (next) => {
    const asked = await stale.browser.get('/admin');
    const answer = await stale.browser.submit(asked, 'Confirm that it is you', {
      next,
      confirm_password: PASSWORD,
    });
    expect([answer.status, answer.headers.location]).toEqual([303, '/admin']);
  });

  itDeep.each(FORMS.filter((path) => path !== '/admin/confirm'))(
    'changes nothing at %s without the password',
    async (path) => {
      const { values } = formOf(await stale.browser.get('/admin'), 'Confirm that it is you');
      const before = await state();
      for (const [password, fault] of [
        ['', 'Enter your password.'],
        ['not the password', 'This is not your password.'],
      ] as const) {
        const fields = [
          ...FIELDS,
          ['csrf_token', values.csrf_token!],
          ['confirm_password', password],
        ] as const;
        const answer = await stale.browser.post(at(path), fields);
        expect([answer.status, textOf(answer.text)]).toEqual([422, expect.stringContaining(fault)]);
      }
      expect(await state()).toEqual(before);
    },
  );

  itDeep('carries out the submitted action once the password is entered', async () => {
    const person = await personAt(first, 'asked-for');
    const { values } = formOf(await stale.browser.get('/admin'), 'Confirm that it is you');
    const fields = [['csrf_token', values.csrf_token!]] as const;
    const asked = await stale.browser.post(`/admin/accounts/${person.id}/suspend`, fields);
    const done = await stale.browser.submit(asked, 'Confirm that it is you', { confirm_password: PASSWORD });
    expect(done.headers.location).toBe(`/admin/accounts/${person.id}?done=suspend`);
    const account = await stale.browser.get(done.headers.location as string);
    expect(textOf(account.text)).toContain('The account is suspended.');
  });
});

describe('/admin with a forged form', () => {
  itDeep.each(FORMS)('is 403 and changes nothing at %s', async (path) => {
    const administrator = await administratorAt(first, `forms-${FORMS.indexOf(path)}`);
    const other = await administratorAt(first, `others-${FORMS.indexOf(path)}`);
    const foreign = formOf(await other.browser.get('/admin/invitations'), 'Invite').values.csrf_token!;
    const own = formOf(await administrator.browser.get('/admin/invitations'), 'Invite').values.csrf_token!;
    const before = await state();
    const sent = async (token: string, headers = {}): Promise<number> =>
      (await administrator.browser.post(at(path), [...FIELDS, ['csrf_token', token]], headers)).status;
    expect(await sent(foreign)).toBe(403);
    expect(await sent('')).toBe(403);
    expect(await sent(own, { Origin: 'https://evil.example' })).toBe(403);
    expect(await sent(own, { 'Sec-Fetch-Site': 'same-site' })).toBe(403);
    expect(await state()).toEqual(before);
  });
});

describe('/admin for an administrator', () => {
  itDeep('lists the accounts page by page, and finds them by address and name', async () => {
    const { browser } = await administratorAt(first, 'lister');
    await first.database.query(
      `INSERT INTO users (email, name, email_verified, created_at, updated_at)
       SELECT format('many-%s@example.org', lpad(n::text, 3, '0')), 'One of many', false, now(), now()
       FROM generate_series(1, 60) n`,
    );
    const page = await browser.get('/admin?search=many-');
    expect(page.text.match(/many-\d{3}@example\.org/g)).toHaveLength(50);
    expect(page.text).toContain('href="/admin?search=many-&amp;after=many-050%40example.org"');
    const rest = await browser.get('/admin?search=many-&after=many-050%40example.org');
    expect(rest.text.match(/many-\d{3}@example\.org/g)).toHaveLength(10);
    expect(textOf((await browser.get('/admin?search=ONE%20OF')).text)).toContain('many-001@example.org');
    expect(textOf((await browser.get('/admin?search=absent')).text)).toContain('There is no such account.');
  });

  itDeep('shows markup in names as text', async () => {
    const { browser } = await administratorAt(first, 'reader');
    await first.database.query(`UPDATE users SET name = '<b id="x">bold</b>' WHERE id = $1`, [target.id]);
    const { text } = await browser.get(at('/admin/accounts/ID'));
    expect(text).not.toContain('<b id="x">');
    expect(text).toContain('&lt;b id');
  });

  itDeep('answers 404 for accounts that do not exist', async () => {
    const { browser } = await administratorAt(first, 'misspelt');
    for (const id of ['x', '00000000-0000-4000-8000-000000000000']) {
      expect((await browser.get(`/admin/accounts/${id}`)).status).toBe(404);
      const { values } = formOf(await browser.get('/admin/invitations'), 'Invite');
      for (const name of ['suspend', 'delete', 'grant', 'reset-password', 'unknown']) {
        const answer = await browser.post(`/admin/accounts/${id}/${name}`, [
          ['csrf_token', values.csrf_token!],
        ]);
        expect(answer.status).toBe(404);
      }
    }
  });

  itDeep('works while the service is read-only, but deletes and invites no account', async () => {
    const administrator = await administratorAt(first, 'maintainer');
    const person = await personAt(first, 'maintained');
    const { browser } = administrator;
    await browser.get('/admin/service');
    await browser.submit(await browser.get('/admin/service'), 'Set the kill switch', { mode: 'read-only' });
    await first.app.get(KillSwitch).look();
    const account = await browser.get(`/admin/accounts/${person.id}`);
    const deletion = await browser.submit(account, 'Delete the account', { confirm: person.email });
    expect(deletion.status).toBe(503);
    expect((await browser.submit(account, 'Suspend')).status).toBe(303);
    const invitations = await browser.get('/admin/invitations');
    expect((await browser.submit(invitations, 'Invite', { email: 'x@example.org' })).status).toBe(503);

    const off = await browser.submit(await browser.get('/admin/service'), 'Set the kill switch', {
      mode: 'off',
    });
    expect(off.status).toBe(303);
    await first.app.get(KillSwitch).look();
    expect(first.app.get(KillSwitch).mode).toBe('off');
  });
});
