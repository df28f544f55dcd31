import type { Redis } from 'ioredis';
import { Log } from '../log/index.js';
import { type BusEvent, EventCarrier } from './event-carrier.js';
import { EventBatcher } from './event-batcher.js';

const CHANNEL = 'cloud-sync:events';

/** Redis publish and subscribe, where REDIS_URL is set. */
export class RedisCarrier extends EventCarrier {
  private readonly batcher: EventBatcher;
  private readonly subscriber: Redis;

  constructor(
    redis: Redis,
    private readonly log: Log,
  ) {
    super();
    this.batcher = new EventBatcher((payload) => redis.publish(CHANNEL, payload), log);
    // Subscribes again by itself after each reconnection.
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
      await this.subscriber.subscribe(CHANNEL);
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
    await this.log.bestEffort('subscribe to Redis', () => this.subscriber.subscribe(CHANNEL));
    onGap();
  }
}
