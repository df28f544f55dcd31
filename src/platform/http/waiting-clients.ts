import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import { requestScope } from '../log/index.js';

/** Least pace of a body: this many bytes in each interval of this many looks in which its client was silent. */
export const LEAST_BYTES = 16 * 1024;
export const LOOK_EVERY_MS = 5_000;
export const LOOKS_OF_INTERVAL = 6;

/** Bounds of all waiting clients together. A waiting request costs some 30 KiB, without the bytes that are held for it. */
const MOST = { clients: 4_000, heldBytes: 192 * 1024 * 1024 };

/** The clients of one account or one network. */
interface Holder {
  readonly clients: Set<WaitingClient>;
  silent: number;
  heldBytes: number;
}

/** Why a client was dropped: it was below the least pace, or others needed the room. */
export type Cause = 'pace' | 'room';

/** A client that has to send the rest of a body, or to read an answer that is held for it. Long-lived: call `leave`. */
export class WaitingClient {
  private bytes = 0;
  private bytesBefore = 0;
  private looks = 0;
  private held = 0;
  private isWaitedFor = false;
  private hasLeft = false;

  /** @param keys of the account and the network @param onDrop ends what the client does; called once, after it has left */
  constructor(
    private readonly all: WaitingClients,
    readonly keys: readonly string[],
    readonly isBody: boolean,
    private onDrop: (cause: Cause) => void,
  ) {}

  get isSilent(): boolean {
    return this.isWaitedFor;
  }

  get heldBytes(): number {
    return this.held;
  }

  /** Bytes that were sent or read since it is waited for. */
  get progress(): number {
    return this.bytes;
  }

  /** Bytes in each look so far, beginning with those of one interval: a client that has just come is not slow. */
  get pace(): number {
    return (this.bytes + LEAST_BYTES) / (this.looks + 1);
  }

  /** The service has nothing to do until the client goes on. */
  wait(): void {
    if (this.isWaitedFor || this.hasLeft) return;
    this.isWaitedFor = true;
    this.all.noteSilence(this, 1);
  }

  /** The client has gone on: these bytes were sent or read. */
  goOn(bytes: number): void {
    this.bytes += bytes;
    if (!this.isWaitedFor) return;
    this.isWaitedFor = false;
    this.all.noteSilence(this, -1);
  }

  /** How many bytes are in memory for this client from now on. */
  hold(bytes: number): void {
    if (this.hasLeft) return;
    const more = bytes - this.held;
    this.held = bytes;
    this.all.noteHeld(this, more);
  }

  leave(): void {
    if (this.hasLeft) return;
    this.goOn(0);
    this.hold(0);
    this.hasLeft = true;
    this.all.delete(this);
  }

  drop(cause: Cause): void {
    if (this.hasLeft) return;
    this.leave();
    const { onDrop } = this;
    this.onDrop = () => undefined; // it refers to the request
    onDrop(cause);
  }

  /** Returns whether the client was silent in a whole interval but for less than the least pace. */
  look(): boolean {
    if (!this.isWaitedFor) return false;
    this.looks++;
    if (!this.isBody || this.looks % LOOKS_OF_INTERVAL !== 0) return false;
    const isSlow = this.bytes - this.bytesBefore < LEAST_BYTES;
    this.bytesBefore = this.bytes;
    return isSlow;
  }
}

const ofServers = new WeakMap<Server, WaitingClients>();

/**
 * All clients that the service waits for, apart from its work: what waits holds no slot of a queue and does not count as under
 * way. Waiting has a least pace and bounds of its own. Beyond a bound, the account or the network that has the most loses its
 * slowest client, so that a thousand slow clients of a few cost others nothing.
 */
export class WaitingClients implements Iterable<WaitingClient> {
  readonly most = { ...MOST };
  /** How many were dropped, by cause. */
  readonly dropped: Record<Cause, number> = { pace: 0, room: 0 };
  private readonly all = new Set<WaitingClient>();
  private readonly holders = new Map<string, Holder>();
  private held = 0;
  private silentBodies = 0;
  private timer: NodeJS.Timeout | undefined;

  /** The clients of the server that received a request; undefined for a request that no server received. */
  static of({ socket }: IncomingMessage): WaitingClients | undefined {
    const { server } = socket as Socket & { server?: Server };
    return server && ofServers.get(server);
  }

  get size(): number {
    return this.all.size;
  }

  get heldBytes(): number {
    return this.held;
  }

  /** Requests that are not under way, because their clients do not send. */
  get unsentBodies(): number {
    return this.silentBodies;
  }

  /** Looks after the clients of a server until it is closed. */
  watch(server: Server): void {
    ofServers.set(server, this);
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
    server.once('close', () => this.stopLooking());
  }

  /** From now on, nobody is dropped for their pace. */
  stopLooking(): void {
    clearInterval(this.timer);
  }

  [Symbol.iterator](): Iterator<WaitingClient> {
    return this.all[Symbol.iterator]();
  }

  /** Call it within the scope of the client's request. */
  enter(isBody: boolean, onDrop: (cause: Cause) => void): WaitingClient {
    const scope = requestScope.getStore();
    const keys = scope
      ? [scope.network, ...(scope.userId === undefined ? [] : [`user:${scope.userId}`])]
      : [];
    const client = new WaitingClient(this, keys, isBody, onDrop);
    this.all.add(client);
    for (const key of keys) {
      const holder = this.holders.get(key) ?? { clients: new Set(), silent: 0, heldBytes: 0 };
      this.holders.set(key, holder);
      holder.clients.add(client);
    }
    if (this.all.size > this.most.clients) this.dropSlowest(({ clients }) => clients.size, 0);
    return client;
  }

  /** Drops bodies below the least pace. Looks are counted instead of time: a process that stood still drops nobody for it. */
  look(): void {
    for (const client of [...this.all]) if (client.look()) this.drop(client, 'pace');
  }

  noteSilence(client: WaitingClient, by: 1 | -1): void {
    if (client.isBody) this.silentBodies += by;
    for (const holder of this.holdersOf(client)) holder.silent += by;
  }

  noteHeld(client: WaitingClient, more: number): void {
    this.held += more;
    for (const holder of this.holdersOf(client)) holder.heldBytes += more;
    while (more > 0 && this.held > this.most.heldBytes && this.dropSlowest(({ heldBytes }) => heldBytes, 1));
  }

  delete(client: WaitingClient): void {
    if (!this.all.delete(client)) return;
    for (const key of client.keys) {
      const holder = this.holders.get(key);
      holder?.clients.delete(client);
      if (holder?.clients.size === 0) this.holders.delete(key);
    }
  }

  /**
   * Of the holder with the most, among its clients that hold this many bytes.
   * @returns whether there was one
   */
  private dropSlowest(amount: (holder: Holder) => number, leastHeld: number): boolean {
    let largest: Holder | undefined;
    for (const holder of this.holders.values())
      if (holder.silent > 0 && (!largest || amount(holder) > amount(largest))) largest = holder;
    let slowest: WaitingClient | undefined;
    for (const client of largest?.clients ?? []) {
      if (!client.isSilent || client.heldBytes < leastHeld) continue;
      if (!slowest || client.pace < slowest.pace) slowest = client;
    }
    if (slowest) this.drop(slowest, 'room');
    return slowest !== undefined;
  }

  private drop(client: WaitingClient, cause: Cause): void {
    this.dropped[cause]++;
    client.drop(cause);
  }

  private holdersOf({ keys }: WaitingClient): Holder[] {
    return keys.flatMap((key) => this.holders.get(key) ?? []);
  }
}
