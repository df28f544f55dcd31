import { randomBytes } from 'node:crypto';
import { Client } from '../measure/client.js';

const PART = 10;
const TOKEN_KEPT_MS = 7 * 60_000;

/** A user of the service with a subscription. */
export class Account {
  private kept: { readonly since: number; readonly token: Promise<string> } | undefined;

  private constructor(
    private readonly url: string,
    private readonly session: string,
  ) {}

  /** Signs up as a client would. */
  static async signUp(url: string): Promise<Account> {
    const visitor = new Client(url, { origin: url });
    const [email, password] = [
      `${randomBytes(6).toString('hex')}@example.org`,
      randomBytes(18).toString('hex'),
    ];
    const user = await visitor.sendJson('POST', '/api/auth/sign-up/email', {
      email,
      password,
      name: 'Bench',
    });
    visitor.close();
    const account = new Account(url, (user as { token: string }).token);
    const client = await account.client();
    await client.send('POST', '/api/v1/subscription/trial');
    client.close();
    return account;
  }

  /** A service token, valid for a quarter of an hour. */
  async token(): Promise<string> {
    const client = new Client(this.url, { authorization: `Bearer ${this.session}` });
    const { token } = JSON.parse(String(await client.send('GET', '/api/auth/token'))) as { token: string };
    client.close();
    return token;
  }

  /** A token that many sockets share; renewed after half of its lifetime. */
  async keptToken(): Promise<string> {
    if (!this.kept || performance.now() - this.kept.since > TOKEN_KEPT_MS) {
      this.kept = { since: performance.now(), token: this.token() };
    }
    return this.kept.token;
  }

  /** A client whose requests carry a fresh token. */
  async client(): Promise<Client> {
    return new Client(this.url, { authorization: `Bearer ${await this.token()}` });
  }

  /** Creates workspaces and returns their ids. */
  async workspaces(count: number): Promise<string[]> {
    const client = await this.client();
    const ids: string[] = [];
    while (ids.length < count) {
      const part = Array.from({ length: Math.min(PART, count - ids.length) }, () =>
        client.sendJson('POST', '/api/v1/workspaces', { name: 'bench' }),
      );
      ids.push(...(await Promise.all(part)).map((workspace) => (workspace as { id: string }).id));
    }
    client.close();
    return ids;
  }
}
