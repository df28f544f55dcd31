import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { createECDH } from 'node:crypto';
import webPush from 'web-push';
import { CoalescingRunner } from '../../../platform/async.js';
import { Configuration } from '../../../platform/config/index.js';
import { EventBus, type Topic } from '../../../platform/events/index.js';
import { Log, requestScope } from '../../../platform/log.js';
import { ASSETS, CHANGES, type Committed } from '../../workspaces/index.js';
import { type LiveCheck, PushDispatcher } from './push-dispatcher.js';
import { type Announcement, PushQueue } from './push-queue.js';
import type { PushType } from './push-sender.js';

/** The key pair that identifies this service to push services, both halves in base64url. */
interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

export function generateVapidKeys(): VapidKeys {
  return webPush.generateVAPIDKeys();
}

export function isVapidKeyPair(publicKey?: string, privateKey?: string): boolean {
  const curve = createECDH('prime256v1');
  try {
    curve.setPrivateKey(privateKey ?? '', 'base64url');
    return curve.getPublicKey('base64url') === publicKey;
  } catch {
    return false;
  }
}

const LOOK_EVERY_MS = 1_000;

/** Writes that follow one another within this time are recorded in one statement. */
const GATHER_MS = 50;

/** The maximum kept in memory while the database is unavailable; further ones are dropped. */
const MAX_ANNOUNCED = 10_000;

/**
 * Notifies the devices of a workspace after a change, outside the request that made it: whatever fails here, the write is already
 * committed and answered. Does nothing without VAPID keys.
 */
@Injectable()
export class WebPush implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly announced = new Map<string, Announcement>();
  private readonly rounds = new CoalescingRunner(() => requestScope.exit(() => this.round()));
  /** Two callers of `sendDue` at once would otherwise keep each other waiting, each for the other's rounds. */
  private readonly sends = new CoalescingRunner(() => this.sendAllDue());
  private gathering: NodeJS.Timeout | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly bus: EventBus,
    private readonly queue: PushQueue,
    private readonly dispatcher: PushDispatcher,
    private readonly log: Log,
  ) {}

  /** Devices that the check returns get no push: they are notified over their socket. Called right before sending. */
  skipWhen(check: LiveCheck): void {
    this.dispatcher.skipWhen(check);
  }

  onApplicationBootstrap(): void {
    const { hasWebPush, vapidPublicKey, vapidPrivateKey } = this.configuration;
    if (!hasWebPush) return;
    if (!isVapidKeyPair(vapidPublicKey, vapidPrivateKey))
      this.log.warn(
        {},
        'VAPID_PUBLIC_KEY does not belong to VAPID_PRIVATE_KEY: push services will reject pushes',
      );
    this.dispatcher.whenCapacity(() => void this.work());
    this.listen(CHANGES, 'changes');
    this.listen(ASSETS, 'assets-changed');
  }

  /** Sends what has become due, including what another instance has left behind. */
  @Interval(LOOK_EVERY_MS)
  async look(): Promise<void> {
    if (this.configuration.hasWebPush) await this.work();
  }

  /** Sends what is due now, and resolves when all of it has been attempted; the same would happen without this call. */
  async sendDue(): Promise<void> {
    if (this.configuration.hasWebPush) await this.sends.run();
  }

  private async sendAllDue(): Promise<void> {
    do {
      await this.work();
      await this.dispatcher.finish();
    } while (!this.rounds.isIdle || !this.dispatcher.isIdle);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.dispatcher.stop();
  }

  /** Stores the announcements of the last requests as well, for another instance or the next start to send. */
  async onApplicationShutdown(): Promise<void> {
    await this.sendDue();
  }

  /** Only the instance that made a change acts on it: it knows the device, and other instances would send duplicates. */
  private listen(topic: Topic<Committed>, type: PushType): void {
    this.bus.on(topic, (workspaceId, origin, committed) => {
      if (origin === 'here') this.announce({ workspaceId, type, by: committed?.by ?? undefined });
    });
  }

  private announce(announcement: Announcement): void {
    if (this.announced.size >= MAX_ANNOUNCED) return;
    const { workspaceId, type, by = '' } = announcement;
    this.announced.set(`${type} ${workspaceId} ${by}`, announcement);
    this.gathering ??= setTimeout(() => void this.work(), GATHER_MS).unref();
  }

  /** Runs one round at a time; a call during a round starts another after it. */
  private work(): Promise<void> {
    clearTimeout(this.gathering);
    this.gathering = undefined;
    return this.rounds.run();
  }

  private async round(): Promise<void> {
    await this.log.bestEffort('send pushes', async () => {
      await this.noteAnnounced();
      await this.dispatcher.startDue();
    });
  }

  /** Announcements that cannot be marked wait for the next round; a node that does not answer delays only its own. */
  private async noteAnnounced(): Promise<void> {
    const byPart = new Map<string, [string, Announcement][]>();
    for (const noted of this.announced) {
      const part = await this.queue.partOf(noted[1].workspaceId);
      const ofPart = byPart.get(part);
      if (ofPart) ofPart.push(noted);
      else byPart.set(part, [noted]);
    }
    for (const noted of byPart.values())
      await this.log.bestEffort('mark pushes', async () => {
        await this.queue.mark(noted.map(([, announcement]) => announcement));
        for (const [key, announcement] of noted)
          if (this.announced.get(key) === announcement) this.announced.delete(key);
      });
  }
}
