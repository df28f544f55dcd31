import type { Client } from 'pg';
import { Database, endQuietly } from '../database/index.js';
import { Log } from '../log/index.js';
import { type BusEvent, EventCarrier } from './event-carrier.js';
import { EventBatcher } from './event-batcher.js';

const CHANNEL = 'cloud_sync_events';
const NOTIFY = { name: 'notify', text: 'SELECT pg_notify($1, $2)' };
const ANSWER_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 10_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/**
 * LISTEN on a connection of its own and NOTIFY on another, both outside the pool. NOTIFY stands alone and never in a
 * write's transaction: there it would take a lock of the whole database at every commit.
 */
export class PostgresCarrier extends EventCarrier {
  private readonly batcher: EventBatcher;
  private listener: Client | undefined;
  private notifier: Client | undefined;
  private look: NodeJS.Timeout | undefined;
  private retry: NodeJS.Timeout | undefined;
  private retryMs = FIRST_RETRY_MS;
  private isOutageTold = false;
  private isClosed = false;
  private hear: (event: BusEvent) => void = () => undefined;
  private onGap: () => void = () => undefined;

  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {
    super();
    this.batcher = new EventBatcher((payload) => this.notify(payload), log);
  }

  async open(onEvent: (event: BusEvent) => void, onGap: () => void): Promise<void> {
    this.hear = onEvent;
    this.onGap = onGap;
    this.look = setInterval(() => void this.checkListener(), LOOK_EVERY_MS);
    await this.listen();
  }

  send(event: BusEvent): void {
    this.batcher.add(event);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.look);
    clearTimeout(this.retry);
    await this.batcher.close();
    for (const client of [this.listener, this.notifier]) if (client) await endQuietly(client);
  }

  /** Connects and listens; when that fails, tries again later for as long as it takes. */
  private async listen(): Promise<void> {
    const client = this.database.dedicatedClient('listen', ANSWER_WITHIN_MS);
    client.on('error', () => this.lose(client));
    client.on('end', () => this.lose(client));
    client.on('notification', ({ payload }) => this.batcher.read(payload ?? '').forEach(this.hear));
    this.listener = client;
    try {
      await client.connect();
      await client.query(`SET idle_session_timeout = 0; LISTEN ${CHANNEL}`);
      this.retryMs = FIRST_RETRY_MS;
      this.isOutageTold = false;
      // Also after the first time: what was committed before this moment was not heard.
      this.onGap();
    } catch (err) {
      if (!this.isOutageTold) this.log.warn({ err }, 'cannot listen to the other instances');
      this.isOutageTold = true; // it may last
      this.lose(client);
    }
  }

  private lose(client: Client): void {
    if (this.listener !== client || this.isClosed) return;
    this.listener = undefined;
    void endQuietly(client);
    this.retry = setTimeout(() => void this.listen(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, LAST_RETRY_MS);
  }

  /** A connection that the network has swallowed says nothing: it must be asked. */
  private async checkListener(): Promise<void> {
    const client = this.listener;
    await client?.query('SELECT').catch(() => this.lose(client));
  }

  private async notify(payload: string): Promise<void> {
    this.notifier ??= await this.connectNotifier();
    await this.notifier.query({ ...NOTIFY, values: [CHANNEL, payload] }).catch((error: unknown) => {
      this.forget(this.notifier);
      throw error;
    });
  }

  private async connectNotifier(): Promise<Client> {
    const client = this.database.dedicatedClient('notify', ANSWER_WITHIN_MS);
    client.on('error', () => this.forget(client));
    client.on('end', () => this.forget(client));
    await client.connect();
    return client;
  }

  private forget(client: Client | undefined): void {
    if (client === undefined || this.notifier !== client) return;
    this.notifier = undefined;
    void endQuietly(client);
  }
}
