import { decodeJwt } from 'jose';
import supertest from 'supertest';
import { DEV_LOGIN_KEY } from './service.js';
import { TestWorkspace } from './workspace.js';

type Method = 'get' | 'put' | 'post' | 'delete' | 'patch' | 'head';

/** A user with a bearer token. Paths start at the root. */
export class TestUser {
  private constructor(
    readonly url: string,
    readonly id: string,
    readonly email: string,
    readonly token: string,
  ) {}

  static async logIn(url: string, name: string, email = `${name}@example.org`): Promise<TestUser> {
    const { body } = await supertest(url)
      .post('/api/v1/auth/dev-login')
      .set('X-Dev-Login-Key', DEV_LOGIN_KEY)
      .send({ email, name })
      .expect(200);
    return new TestUser(url, body.userId, email, body.token);
  }

  /** The user of a JWT or an access token. */
  static of(url: string, email: string, token: string): TestUser {
    const id = token.startsWith('pat_') ? '' : (decodeJwt(token).sub ?? '');
    return new TestUser(url, id, email, token);
  }

  /** The same user at another instance, or with another token. */
  at(url: string, token = this.token): TestUser {
    return new TestUser(url, this.id, this.email, token);
  }

  request(method: Method, path: string): supertest.Test {
    return supertest(this.url)[method](path).set('Authorization', `Bearer ${this.token}`);
  }
  get(path: string): supertest.Test {
    return this.request('get', path);
  }
  put(path: string): supertest.Test {
    return this.request('put', path);
  }
  post(path: string): supertest.Test {
    return this.request('post', path);
  }
  delete(path: string): supertest.Test {
    return this.request('delete', path);
  }

  async workspace(name = 'notes'): Promise<TestWorkspace> {
    const { body } = await this.post('/api/v1/workspaces').send({ name }).expect(201);
    return new TestWorkspace(this, body.id);
  }
}
