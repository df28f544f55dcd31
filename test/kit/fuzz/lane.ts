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

/** The objects that an operation has created, and the parameter by which requests can refer to them. */
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
 * Sends its requests one at a time, as a user with objects for them. Lanes run concurrently and share nothing, so the
 * events in one depend only on its seed.
 */
export class Lane {
  private pools: Things = new Map();
  /** A signed-in browser: for pages, and for routes that require a cookie. */
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

  /** @param bystanders ids of another user, by parameter */
  static async open(
    service: TestService,
    name: string,
    bystanders: ReadonlyMap<string, readonly unknown[]>,
  ): Promise<Lane> {
    const lane = new Lane(service, name, bystanders);
    await lane.settle();
    return lane;
  }

  /** The owner comes first, because most requests should succeed. */
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

  /** Updates the objects that requests can refer to. */
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

  /** Creates a user with one object of each kind. */
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

  /** A JWT is valid for 15 minutes. */
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
