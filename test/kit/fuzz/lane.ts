import type { NamedOperation } from '../api-document.js';
import { TestVault } from '../automation.js';
import type { TestService } from '../service.js';
import { TestUser } from '../user.js';
import { bearer, browserOf, type Sender, sendersOf } from './senders.js';
import { furnished, type Things } from './things.js';

const KEPT = 12;
const RENEW_EVERY = 2_000;

interface Harvest {
  readonly id?: string;
  readonly path?: string;
  readonly keySession?: string;
  readonly versions?: readonly { readonly id?: string; readonly versionId?: string }[];
}

/** What an operation has created, and the name by which requests can refer to it. */
const HARVESTS: Readonly<Record<string, (answer: Harvest) => [string, readonly unknown[]]>> = {
  'versions.list': ({ versions = [] }) => ['vid', versions.map(({ id }) => id)],
  'automation.getHistory': ({ versions = [] }) => ['versionId', versions.map(({ versionId }) => versionId)],
  'checkpoints.create': ({ id }) => ['cpId', [id]],
  'accessTokens.create': ({ id }) => ['accessTokens id', [id]],
  'devices.register': ({ id }) => ['devices id', [id]],
  'automation.createNote': ({ path }) => ['path', [path]],
};

const SIGNS_OUT = new Set(['AccountPage.signOut', 'identity.signOut']);
const ENDS_ALL = new Set(['workspaces.delete', 'auth.deleteMe']);

/**
 * One after the other: the requests of a lane, with a user whose things they aim at. Lanes run at once and share nothing,
 * so what happens in one depends on its seed alone.
 */
export class Lane {
  private pools: Things = new Map();
  /** Signed in: for pages, and for what only a cookie opens. */
  browser: Sender;
  private senders: Sender[] = [];
  private user: TestUser;
  private vault: TestVault;
  private count = 0;
  private lives = 0;

  private constructor(
    private readonly service: TestService,
    readonly name: string,
    private readonly bystanders: ReadonlyMap<string, readonly unknown[]>,
  ) {}

  /** @param bystanders ids of somebody else, under the names of parameters */
  static async open(
    service: TestService,
    name: string,
    bystanders: ReadonlyMap<string, readonly unknown[]>,
  ): Promise<Lane> {
    const lane = new Lane(service, name, bystanders);
    await lane.settle();
    return lane;
  }

  /** The owner's first, as most requests are to get somewhere. */
  get owner(): Sender {
    return this.senders[0]!;
  }

  get others(): readonly Sender[] {
    return [...this.senders.slice(1), this.browser];
  }

  known(name: string): readonly unknown[] {
    return this.pools.get(name) ?? [];
  }

  foreign(name: string): readonly unknown[] {
    return this.bystanders.get(name) ?? [];
  }

  /** What requests can refer to from now on, and what is gone. */
  async learn(
    { operation: { operationId } }: NamedOperation,
    sender: Sender,
    status: number,
    body: string,
  ): Promise<void> {
    if (++this.count % RENEW_EVERY === 0) await this.renew();
    if (SIGNS_OUT.has(operationId) && status < 400 && sender === this.browser) await this.openBrowser();
    if (status < 200 || status > 299) return;
    const [name, values] = HARVESTS[operationId]?.(parsed(body)) ?? [];
    if (name !== undefined) this.add(name, values);
    if (operationId === 'automation.endKeySession') await this.openSession();
    if (ENDS_ALL.has(operationId)) await this.settle();
  }

  private add(name: string, values: readonly unknown[] = []): void {
    const known = this.pools.get(name) ?? [];
    const fresh = values.filter(
      (value) => typeof value === 'string' && value.length < 200 && !known.includes(value),
    );
    this.pools.set(name, [...known, ...fresh].slice(-KEPT));
  }

  /** A user with one of everything. */
  private async settle(): Promise<void> {
    this.user = await this.service.user(this.name);
    const workspace = await this.user.workspace();
    this.vault = await TestVault.setUp(workspace);
    this.pools = await furnished(workspace, this.vault);
    await this.openSession();
    this.senders = await sendersOf(this.service, this.name, this.user, workspace.id);
    await this.openBrowser();
  }

  private async openSession(): Promise<void> {
    this.vault = await this.vault.withNewSession();
    this.pools.set('X-Key-Session', [this.vault.keySession]);
  }

  private async openBrowser(): Promise<void> {
    const { sender, forms } = await browserOf(this.service, `${this.name}-browser-${this.lives++}`);
    this.browser = sender;
    for (const [name, values] of forms) this.pools.set(name, values);
    this.pools.set('form', [...forms.keys()]);
  }

  /** A JWT lives for 15 minutes. */
  private async renew(): Promise<void> {
    const { token } = await TestUser.logIn(this.service.url, this.name);
    this.senders[0] = bearer('owner', token, true);
    this.user = this.user.at(this.service.url, token);
    this.vault = this.vault.with(this.vault.keySession, this.user);
  }
}

function parsed(body: string): Harvest {
  try {
    return (JSON.parse(body) ?? {}) as Harvest;
  } catch {
    return {};
  }
}
