import { CoalescingRunner } from '../../platform/async.js';
import type { EventBus } from '../../platform/events/index.js';
import type { Devices } from '../devices/index.js';
import { frameOf } from './messages.js';
import { PRESENCE, type Presence } from './presence.js';
import { type Connection, type Notice, Notices } from './socket-connection.js';

/**
 * Notifies a room of devices that connect and disconnect on any instance, by comparing the current devices with those
 * last announced.
 */
export class DeviceFeed {
  private readonly reads = new CoalescingRunner(() => this.read());
  private readonly notices = new Notices();
  /** Devices on this instance, with their number of sockets. */
  private readonly here = new Map<string, number>();
  /** This instance's devices as last written for the other instances; undefined when unknown. */
  private written: string | undefined = '';
  private told: ReadonlySet<string> = new Set();

  constructor(
    private readonly workspace: { readonly id: string; readonly ownerId: string },
    private readonly members: ReadonlySet<Connection>,
    private readonly presence: Presence,
    private readonly devices: Devices,
    private readonly bus: EventBus,
  ) {}

  /** The number of distinct devices that have said hello, on all instances. */
  get count(): number {
    return this.told.size;
  }

  get isEmptyHere(): boolean {
    return this.here.size === 0;
  }

  /** Whether the last write is known to have reached the other instances. */
  get isWritten(): boolean {
    return this.written !== undefined;
  }

  /** Adds a device for the next `catchUp`; a second socket of the same device is not a new device. */
  add(deviceId: string): void {
    this.here.set(deviceId, (this.here.get(deviceId) ?? 0) + 1);
  }

  remove(deviceId: string): void {
    const left = (this.here.get(deviceId) ?? 1) - 1;
    if (left > 0) this.here.set(deviceId, left);
    else this.here.delete(deviceId);
  }

  /** Whether the devices here and elsewhere differ from those last announced to the members. */
  differsWith(elsewhere: readonly string[]): boolean {
    const now = new Set([...this.here.keys(), ...elsewhere]);
    return now.size !== this.told.size || [...now].some((deviceId) => !this.told.has(deviceId));
  }

  /** Call it when the presence rows of this instance have been lost: they are then written again. */
  forgetWritten(): void {
    this.written = undefined;
  }

  catchUp(): Promise<void> {
    return this.reads.run();
  }

  /** Sends a member the remaining notices, so that it matches `count`. */
  finishTelling(member: Connection): void {
    this.notices.finish(member);
  }

  private async read(): Promise<void> {
    const { id } = this.workspace;
    const here = [...this.here.keys()].sort();
    if (here.join(' ') !== this.written) {
      this.written = undefined; // if the response is lost, the outcome is unknown
      await this.presence.set(id, here);
      this.bus.publish({ topic: PRESENCE, key: id });
      this.written = here.join(' ');
    }
    const elsewhere = (await this.presence.elsewhere([id])).get(id) ?? [];
    await this.tell(new Set([...here, ...elsewhere]));
  }

  private async tell(now: ReadonlySet<string>): Promise<void> {
    const come = [...now].filter((deviceId) => !this.told.has(deviceId));
    const gone = [...this.told].filter((deviceId) => !now.has(deviceId));
    const hasListeners = this.members.size > 0;
    const { ownerId } = this.workspace;
    const names = hasListeners && come.length > 0 ? await this.devices.names(ownerId, come) : undefined;
    const notices: Notice[] = [];
    for (const deviceId of gone)
      notices.push({ deviceId, frame: frameOf({ type: 'device_disconnected', deviceId }) });
    for (const deviceId of come) {
      const deviceName = names?.get(deviceId) ?? deviceId;
      notices.push({ deviceId, frame: frameOf({ type: 'device_connected', deviceId, deviceName }) });
    }
    // No await between these two lines: a member welcomed from now on gets the new count and must not be notified again.
    this.told = now;
    await this.notices.send(this.members, notices);
  }
}
