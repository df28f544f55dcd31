import type { Redis } from 'ioredis';
import type { Client } from 'pg';
import { Database, endQuietly } from '../database/index.js';
import { Log } from '../log.js';
import { type BusEvent, EventBatcher, EventCarrier } from './event-bus.js';

const POSTGRES_CHANNEL = 'cloud_sync_events';
const NOTIFY = { name: 'notify', text: 'SELECT pg_notify($1, $2)' };
const ANSWER_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 10_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/**
 * Uses one dedicated connection for LISTEN and another for NOTIFY, both outside the pool. NOTIFY never runs in a write's
 * transaction: there it would take a database-wide lock at every commit.
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

  /** Connects and listens; on failure, retries indefinitely. */
  private async listen(): Promise<void> {
    const client = this.database.dedicatedClient('listen', ANSWER_WITHIN_MS);
    client.on('error', () => this.lose(client));
    client.on('end', () => this.lose(client));
    client.on('notification', ({ payload }) => this.batcher.read(payload ?? '').forEach(this.hear));
    this.listener = client;
    try {
      await client.connect();
      await client.query(`SET idle_session_timeout = 0; LISTEN ${POSTGRES_CHANNEL}`);
      this.retryMs = FIRST_RETRY_MS;
      this.isOutageTold = false;
      // Also after the first connection: what was committed before this moment was not received.
      this.onGap();
    } catch (err) {
      if (!this.isOutageTold) this.log.warn({ err }, 'cannot listen to the other instances');
      this.isOutageTold = true; // log once per outage
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

  /** The loss of a connection in the network raises no event, so the connection is probed with a query. */
  private async checkListener(): Promise<void> {
    const client = this.listener;
    await client?.query('SELECT').catch(() => this.lose(client));
  }

  private async notify(payload: string): Promise<void> {
    this.notifier ??= await this.connectNotifier();
    await this.notifier.query({ ...NOTIFY, values: [POSTGRES_CHANNEL, payload] }).catch((error: unknown) => {
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

const REDIS_CHANNEL = 'cloud-sync:events';

/** Redis publish/subscribe, used when REDIS_URL is set. */
export class RedisCarrier extends EventCarrier {
  private readonly batcher: EventBatcher;
  private readonly subscriber: Redis;

  constructor(
    redis: Redis,
    private readonly log: Log,
  ) {
    super();
    this.batcher = new EventBatcher((payload) => redis.publish(REDIS_CHANNEL, payload), log);
    // ioredis subscribes again after each reconnection.
    this.subscriber = redis.duplicate({
      maxRetriesPerRequest: null,
      enableOfflineQueue: true,
      lazyConnect: true,
    });
    this.subscriber.on('error', (err) => log.warn({ err }, 'the connection to Redis failed'));
  }

  async open(onEvent: (event: BusEvent) => void, onGap: () => void): Promise<void> {
    this.subscriber.on('message', (_channel, payload: string) => this.batcher.read(payload).forEach(onEvent));
    await this.log.bestEffort('subscribe to Redis', async () => {
      await this.subscriber.connect();
      await this.subscriber.subscribe(REDIS_CHANNEL);
    });
    this.subscriber.on('ready', () => void this.resubscribed(onGap));
    onGap();
  }

  send(event: BusEvent): void {
    this.batcher.add(event);
  }

  async close(): Promise<void> {
    await this.batcher.close();
    this.subscriber.disconnect();
  }

  private async resubscribed(onGap: () => void): Promise<void> {
    await this.log.bestEffort('subscribe to Redis', () => this.subscriber.subscribe(REDIS_CHANNEL));
    onGap();
  }
}
