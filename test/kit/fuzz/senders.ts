import { SCOPES } from '../../../src/access/route-access.js';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { BASE_URL, type TestService } from '../service.js';
import type { TestUser } from '../user.js';
import { formsOf, Visitor } from '../visitor.js';
import type { Things } from './things.js';

const PASSWORD = 'correct horse battery staple';

/** The sender of a request, with the headers that identify it. */
export interface Sender {
  readonly name: string;
  /** Whether the sender owns the target and may do everything with it. */
  readonly isOwner: boolean;
  readonly headers: readonly (readonly [string, string])[];
}

export const bearer = (name: string, token: string, isOwner = false): Sender => ({
  name,
  isOwner,
  headers: [['Authorization', `Bearer ${token}`]],
});

/** The first sender is the owner with a JWT; none is a browser. */
export async function sendersOf(
  service: TestService,
  name: string,
  user: TestUser,
  workspaceId: string,
): Promise<Sender[]> {
  const mint = async (body: object): Promise<string> => {
    const request = user.post('/api/v1/auth/tokens').send({ name: 'fuzz', ...body });
    return (await request.expect(201)).body.token;
  };
  const expired = await mint({ name: 'expired' });
  await service.database.query(
    `UPDATE access_tokens SET expires_at = '2001-01-01' WHERE user_id = $1 AND name = 'expired'`,
    [user.id],
  );
  const lapsed = await service.user(`${name}-lapsed`);
  await service.app.get(Subscriptions).grant(lapsed.id, 'expired', null);
  const scoped = SCOPES.map(async (scope) => bearer(`a token for ${scope}`, await mint({ scopes: [scope] })));
  return [
    bearer('owner', user.token, true),
    bearer('a full token', await mint({ scopes: ['full'] }), true),
    ...(await Promise.all(scoped)),
    bearer('a token for this workspace', await mint({ scopes: ['full'], workspaceId })),
    bearer('a stranger', (await service.user(`${name}-stranger`)).token),
    bearer('a lapsed user', lapsed.token),
    bearer('an expired token', expired),
    bearer('garbage', 'a.b.c'),
    { name: 'nobody', isOwner: false, headers: [] },
  ];
}

/** A new user in a browser, with the values in the forms of its pages. */
export async function browserOf(
  service: TestService,
  name: string,
): Promise<{ sender: Sender; forms: Things }> {
  const visitor = new Visitor(service.url, { Origin: BASE_URL });
  const [form] = formsOf(await visitor.get('/account'));
  const account = { email: `${name}@example.org`, password: PASSWORD, name: 'Browser', intent: 'sign-up' };
  await visitor.post('/account', Object.entries({ ...form?.values, ...account }));
  const forms: Things = new Map();
  for (const { values } of formsOf(await visitor.get('/account')))
    for (const [field, value] of Object.entries(values)) forms.set(`form ${field}`, [value]);
  const headers = { Cookie: visitor.cookie, Origin: BASE_URL };
  return { sender: { name: 'a browser', isOwner: true, headers: Object.entries(headers) }, forms };
}
