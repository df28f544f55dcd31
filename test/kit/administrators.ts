import supertest from 'supertest';
import { Administrators } from '../../src/domain/auth/index.js';
import type { TestService } from './service.js';
import { Visitor } from './visitor.js';

export const PASSWORD = 'correct horse battery staple';

/** Somebody with an account and a browser that is signed in to it. */
export interface Person {
  readonly id: string;
  readonly email: string;
  readonly browser: Visitor;
}

/** Signs up over the API and signs in on the pages. */
export async function personAt(service: TestService, name: string): Promise<Person> {
  const email = `${name}@example.org`;
  const { body } = await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .send({ email, name, password: PASSWORD })
    .expect(200);
  const browser = new Visitor(service.url);
  await browser.submit(await browser.get('/account'), 'Sign in', { email, password: PASSWORD });
  return { id: (body as { user: { id: string } }).user.id, email, browser };
}

/** A confirmed second factor, as its set-up leaves it; it counts as given in the sign-ins of the person. */
export async function giveFactor(
  { database }: Pick<TestService, 'database'>,
  { id }: Pick<Person, 'id'>,
): Promise<void> {
  await database.query(
    `INSERT INTO auth_two_factors (user_id, secret, verified, created_at) VALUES ($1, 'not used', true, now())`,
    [id],
  );
  await signedInByFactor({ database }, { id });
}

/** What a code at the sign-in leaves, for all sign-ins of the person. */
export async function signedInByFactor(
  { database }: Pick<TestService, 'database'>,
  { id }: Pick<Person, 'id'>,
): Promise<void> {
  await database.query('UPDATE auth_sessions SET factor_at = now() WHERE user_id = $1', [id]);
}

export async function promote({ app }: TestService, { id }: Pick<Person, 'id'>): Promise<void> {
  await app.get(Administrators).promote(id, { actor: 'operator' });
}

/** A promoted user with a second factor, recently signed in. */
export async function administratorAt(service: TestService, name: string): Promise<Person> {
  const person = await personAt(service, name);
  await promote(service, person);
  await giveFactor(service, person);
  return person;
}
