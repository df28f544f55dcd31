import { Subscriptions } from '../../../src/domain/billing/index.js';
import { NightlyJobs } from '../../../src/platform/jobs/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { DEV_LOGIN_KEY, type TestService } from '../index.js';
import { Follower } from './follower.js';
import { versionName } from './files.js';
import type { HttpAnswer, HttpClient } from './http-client.js';
import { Names } from './names.js';
import { type Answer, answered, type Caller, type Operation } from './operations.js';
import { answerTo, type Asked, learnFrom, requestOf, tellsVersions, versionsIn } from './wire.js';

/** A service JWT lives for 15 minutes. */
const LOG_IN_EVERY = 10 * 60_000;

/** A well-formed token that was never issued. */
const FORGED = `pat_${'x'.repeat(43)}`;

/** Two instances of the service, and the client that sends them requests. */
export interface Lane {
  readonly services: readonly [TestService, TestService];
  readonly client: HttpClient;
}

interface Session {
  readonly jwt: string;
  readonly since: number;
}

/** An account of the service: takes operations of the model, and answers in the names of the model. */
export class AccountUnderTest {
  readonly names = new Names();
  private readonly followers = new Map<string, Follower>();
  private readonly sessions = new Map<string, Session>();
  userId = '';

  private constructor(
    private readonly lane: Lane,
    readonly email: string,
  ) {}

  static async open(lane: Lane, email: string): Promise<AccountUnderTest> {
    const account = new AccountUnderTest(lane, email);
    await account.bearer('owner');
    await account.perform([{ kind: 'subscribe', isSubscribed: true }]);
    return account;
  }

  /** What a device of the owner knows of a workspace. */
  follower(workspace: string, device: string): Follower {
    const key = `${workspace} ${device}`;
    const known = this.followers.get(key) ?? new Follower();
    this.followers.set(key, known);
    return known;
  }

  /**
   * Sends operations at once. Answers are translated when all have arrived, because one may name what
   * another, still in flight, has created.
   */
  async perform(operations: readonly Operation[]): Promise<Answer[]> {
    const tellers = await Promise.all(operations.map((operation) => this.send(operation)));
    const answers: Answer[] = [];
    for (const tell of tellers) answers.push(await tell());
    return answers;
  }

  /** Resolves when the operation is done, with a function that translates the answer. */
  private async send(operation: Operation): Promise<() => Answer | Promise<Answer>> {
    switch (operation.kind) {
      case 'night':
        await this.lane.services[operation.at].app.get(NightlyJobs).run();
        return () => answered({});
      case 'subscribe': {
        const status = operation.isSubscribed ? 'active' : 'cancelled';
        await this.lane.services[0].app.get(Subscriptions).grant(this.userId, status, null);
        return () => answered({});
      }
      default:
        return this.ask(operation);
    }
  }

  /** Waits for work that the service does after its answers. */
  async settle(): Promise<void> {
    for (const { app } of this.lane.services) await app.get(WorkspacePurge).idle();
  }

  /** Deletes the account with all its data. */
  async leave(): Promise<void> {
    const [{ url }] = this.lane.services;
    const authorization = await this.bearer('owner');
    const body = { confirm: this.email };
    const request = { method: 'DELETE', path: '/api/v1/auth/me', headers: { authorization }, body };
    const { status } = await this.lane.client.send(url, request);
    expect(status).toBe(200);
    await this.settle();
    // What an upload in flight held back is removed when the purge runs again, once a minute.
    await this.lane.services[0].app.get(WorkspacePurge).finish();
  }

  private async ask(operation: Asked): Promise<() => Promise<Answer>> {
    const { services, client } = this.lane;
    const { url, clock } = services[operation.at];
    // Before the request: the versions that it names may be gone when it is answered.
    if (tellsVersions(operation.kind) || !this.names.areKnown(versionsIn(operation)))
      await this.learnVersions();
    const request = requestOf(operation, this.names, clock.now().getTime());
    const authorization = await this.bearer(operation.by);
    const headers = { ...request.headers, ...(authorization ? { authorization } : {}) };
    const answer = await client.send(url, { ...request, headers });
    learnFrom(operation, answer, this.names);
    return () => this.tell(operation, answer);
  }

  private async tell(operation: Asked, answer: HttpAnswer): Promise<Answer> {
    let words = answerTo(operation, answer, this.names);
    if (tellsVersions(operation.kind) && !this.names.areAllNamed(words.body)) {
      await this.learnVersions();
      words = answerTo(operation, answer, this.names);
    }
    if (operation.kind === 'pull')
      this.follower(operation.workspace, operation.device).pulled(operation, words);
    if (operation.kind === 'snapshot')
      this.follower(operation.workspace, operation.device).walked(operation, words);
    return words;
  }

  /** Uploads do not return ids of versions, but projections name versions by id, so these are looked up. */
  private async learnVersions(): Promise<void> {
    const rows = await this.lane.services[0].database.query<{
      id: string;
      version: number;
      path: string;
      workspace: string;
    }>(
      `SELECT v.id, v.version, f.encrypted_path AS path, f.workspace_id AS workspace
       FROM versions v JOIN files f ON f.workspace_id = v.workspace_id AND f.id = v.file_id
       JOIN workspaces w ON w.id = f.workspace_id WHERE w.user_id = $1`,
      [this.userId],
    );
    for (const { id, version, path, workspace } of rows)
      this.names.learn(versionName(String(this.names.inWords(workspace)), path, version), id);
  }

  private async bearer(caller: Caller): Promise<string> {
    if (caller === 'nobody') return '';
    if (caller === 'owner' || caller === 'stranger') return `Bearer ${await this.jwtOf(caller)}`;
    const raw = `raw ${caller}`;
    return `Bearer ${this.names.areKnown([raw]) ? this.names.idOf(raw) : FORGED}`;
  }

  private async jwtOf(caller: 'owner' | 'stranger'): Promise<string> {
    const [{ url, clock }] = this.lane.services;
    const now = clock.now().getTime();
    const session = this.sessions.get(caller);
    if (session && now - session.since < LOG_IN_EVERY) return session.jwt;
    const email = caller === 'owner' ? this.email : 'stranger@example.org';
    const { body } = await this.lane.client.send(url, {
      method: 'POST',
      path: '/api/v1/auth/dev-login',
      headers: { 'x-dev-login-key': DEV_LOGIN_KEY },
      body: { email, name: caller },
    });
    const { token, userId } = JSON.parse(body.toString()) as { token: string; userId: string };
    if (caller === 'owner') this.userId = userId;
    this.names.learn(caller, userId);
    this.sessions.set(caller, { jwt: token, since: now });
    return token;
  }
}
