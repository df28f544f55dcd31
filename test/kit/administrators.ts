import supertest from 'supertest';
import { Administrators } from '../../src/domain/auth/index.js';
import type { TestService } from './service.js';
import { Visitor } from './visitor.js';

export const PASSWORD = 'correct horse battery staple';

/** A user with an account and a browser that is signed in to it. */
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

/** Stores a confirmed second factor, and marks the user's sign-ins as made with it. */
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

/** Marks all sign-ins of the user as made with the second factor. */
export async function signedInByFactor(
  { database }: Pick<TestService, 'database'>,
  { id }: Pick<Person, 'id'>,
): Promise<void> {
  await database.query('UPDATE auth_sessions SET factor_at = now() WHERE user_id = $1', [id]);
}

export async function promote({ app }: TestService, { id }: Pick<Person, 'id'>): Promise<void> {
  await app.get(Administrators).promote(id, { actor: 'operator' });
}

/** A user with administrator rights and a second factor, recently signed in. */
export async function administratorAt(service: TestService, name: string): Promise<Person> {
  const person = await personAt(service, name);
  await promote(service, person);
  await giveFactor(service, person);
  return person;
}
