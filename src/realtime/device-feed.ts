import type { Connection } from './socket-connection.js';
import { CoalescingRunner } from '../platform/async/index.js';
import { frameOf } from './messages.js';
import { type Notice, Notices } from './notices.js';

export interface DeviceSources {
  /** Makes these the devices that the workspace has on this instance, and tells the other instances. */
  set(deviceIds: readonly string[]): Promise<void>;
  /** Those that it has on the other instances. */
  elsewhere(): Promise<readonly string[]>;
  /** The registered names of devices; an unregistered one is left out. */
  names(deviceIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Tells a room of the devices that come and go, on all instances: the difference of what is from what was told. */
export class DeviceFeed {
  private readonly reads = new CoalescingRunner(() => this.read());
  private readonly notices = new Notices();
  /** Devices here, with the number of their sockets. */
  private readonly here = new Map<string, number>();
  /** What the others can read of this instance; undefined when that is not known. */
  private written: string | undefined = '';
  private told: ReadonlySet<string> = new Set();

  constructor(
    private readonly sources: DeviceSources,
    private readonly members: ReadonlySet<Connection>,
  ) {}

  /** Distinct devices that have said hello, wherever. */
  get count(): number {
    return this.told.size;
  }

  get isEmptyHere(): boolean {
    return this.here.size === 0;
  }

  /** Whether the others are known to read what was written last. */
  get isWritten(): boolean {
    return this.written !== undefined;
  }

  /** Takes a device in for the next `catchUp`; a second socket of it is no new device. */
  add(deviceId: string): void {
    this.here.set(deviceId, (this.here.get(deviceId) ?? 0) + 1);
  }

  remove(deviceId: string): void {
    const left = (this.here.get(deviceId) ?? 1) - 1;
    if (left > 0) this.here.set(deviceId, left);
    else this.here.delete(deviceId);
  }

  /** Whether the devices here and there are others than the members were told of. */
  differsWith(elsewhere: readonly string[]): boolean {
    const now = new Set([...this.here.keys(), ...elsewhere]);
    return now.size !== this.told.size || [...now].some((deviceId) => !this.told.has(deviceId));
  }

  /** What was written of this instance has been lost: it is written again. */
  forgetWritten(): void {
    this.written = undefined;
  }

  catchUp(): Promise<void> {
    return this.reads.run();
  }

  /** Brings a member to where `count` is. */
  finishTelling(member: Connection): void {
    this.notices.finish(member);
  }

  private async read(): Promise<void> {
    const here = [...this.here.keys()].sort();
    if (here.join(' ') !== this.written) {
      this.written = undefined; // an answer that is lost leaves it open
      await this.sources.set(here);
      this.written = here.join(' ');
    }
    await this.tell(new Set([...here, ...(await this.sources.elsewhere())]));
  }

  private async tell(now: ReadonlySet<string>): Promise<void> {
    const come = [...now].filter((deviceId) => !this.told.has(deviceId));
    const gone = [...this.told].filter((deviceId) => !now.has(deviceId));
    const hasListeners = this.members.size > 0;
    const names = hasListeners && come.length > 0 ? await this.sources.names(come) : undefined;
    const notices: Notice[] = [];
    for (const deviceId of gone)
      notices.push({ deviceId, frame: frameOf({ type: 'device_disconnected', deviceId }) });
    for (const deviceId of come) {
      const deviceName = names?.get(deviceId) ?? deviceId;
      notices.push({ deviceId, frame: frameOf({ type: 'device_connected', deviceId, deviceName }) });
    }
    // No await between the two: who is welcomed from now on is given the new count, and must not be told again.
    this.told = now;
    await this.notices.send(this.members, notices);
  }
}
