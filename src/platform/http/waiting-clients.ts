import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DenseSet } from '../async.js';
import { requestScope } from '../log.js';

/** Least pace of a body: this many bytes in each interval of this many looks in which its client was silent. */
export const LEAST_BYTES = 16 * 1024;
export const LOOK_EVERY_MS = 5_000;
export const LOOKS_OF_INTERVAL = 6;

/** In a turn of the event loop: a thousand that came together would otherwise delay others, and count as under way until all are answered. */
const DROPPED_AT_ONCE = 20;

/** Bounds of all waiting clients together. A waiting request costs some 30 KiB, without the bytes that are held for it. */
const MOST = { clients: 4_000, heldBytes: 128 * 1024 * 1024 };

/** What the bounds count of a network, or of a user of it. */
interface Share {
  clients: number;
  heldBytes: number;
}

const NOTHING: Share = { clients: 0, heldBytes: 0 };

interface Network extends Share {
  unsentBodies: number;
  readonly users: Map<string, Share>;
}

/** Key of the strangers of a network: they count as one user. */
const STRANGERS = '';

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

  /** @param onDrop ends what the client does; called once, after it has left */
  constructor(
    private readonly all: WaitingClients,
    readonly network: string,
    readonly user: string,
    readonly isBody: boolean,
    private onDrop: ((cause: Cause) => void) | undefined,
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

  /** These bytes were sent or read. */
  count(bytes: number): void {
    this.bytes += bytes;
  }

  /** The client has gone on. */
  goOn(): void {
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
    this.goOn();
    this.hold(0);
    this.hasLeft = true;
    this.all.delete(this);
  }

  drop(cause: Cause): void {
    if (this.hasLeft) return;
    this.leave();
    const { onDrop } = this;
    this.onDrop = undefined; // it refers to the request
    onDrop?.(cause);
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
 * way. Waiting has a least pace and bounds of its own. Beyond a bound, the network that has the most loses a client, of its user
 * who has the most: the slowest one, or the one for which the most bytes are held. So a thousand slow clients of a few
 * networks cost others nothing.
 */
export class WaitingClients implements Iterable<WaitingClient> {
  readonly most = { ...MOST };
  /** How many were dropped, by cause. */
  readonly dropped: Record<Cause, number> = { pace: 0, room: 0 };
  private readonly all = new DenseSet<WaitingClient>();
  private readonly networks = new Map<string, Network>();
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

  /** The same of a network. */
  unsentBodiesOf(network: string): number {
    return this.networks.get(network)?.unsentBodies ?? 0;
  }

  /** The only client that there is must not be dropped for the size of its body. */
  makeRoomFor(largestBody: number): void {
    this.most.heldBytes = Math.max(this.most.heldBytes, largestBody + MOST.heldBytes / 4);
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
    const client = new WaitingClient(this, scope?.network ?? '', scope?.userId ?? STRANGERS, isBody, onDrop);
    this.all.add(client);
    const network: Network = this.networks.get(client.network) ?? {
      ...NOTHING,
      unsentBodies: 0,
      users: new Map(),
    };
    this.networks.set(client.network, network);
    const user: Share = network.users.get(client.user) ?? { ...NOTHING };
    network.users.set(client.user, user);
    network.clients++;
    user.clients++;
    return client;
  }

  /** Drops bodies below the least pace. Looks are counted instead of time: a process that stood still drops nobody for it. */
  look(): void {
    void this.dropSlow([...this.all].filter((client) => client.look()));
  }

  private async dropSlow(slow: WaitingClient[]): Promise<void> {
    while (slow.length > 0) {
      for (const client of slow.splice(0, DROPPED_AT_ONCE)) this.drop(client, 'pace');
      await nextTurn();
    }
  }

  noteSilence(client: WaitingClient, by: 1 | -1): void {
    if (client.isBody) {
      this.silentBodies += by;
      const network = this.networks.get(client.network);
      if (network) network.unsentBodies += by;
    }
    // Not before it is silent: of a network with as many as others, it is the one to be dropped.
    while (by > 0 && this.all.size > this.most.clients && this.dropOne(clientsOf, slowness));
  }

  noteHeld(client: WaitingClient, more: number): void {
    this.held += more;
    const network = this.networks.get(client.network);
    const user = network?.users.get(client.user);
    if (network) network.heldBytes += more;
    if (user) user.heldBytes += more;
    while (more > 0 && this.held > this.most.heldBytes && this.dropOne(bytesOf, bytesOf));
  }

  delete(client: WaitingClient): void {
    this.all.delete(client);
    const network = this.networks.get(client.network);
    const user = network?.users.get(client.user);
    if (!network || !user) return;
    if (--user.clients === 0) network.users.delete(client.user);
    if (--network.clients === 0) this.networks.delete(client.network);
  }

  /**
   * Never one of a smaller share: whoever has the most could otherwise let others be dropped. Also one that is not silent: it may be
   * the one that grows.
   * @param amount of which a share has the most @param rank of its clients; 0: may not be dropped
   * @returns whether there was one
   */
  private dropOne(amount: (share: Share) => number, rank: (client: WaitingClient) => number): boolean {
    const [name, network] = largest(this.networks, ([, share]) => amount(share)) ?? [];
    const [user] = (network && largest(network.users, ([, share]) => amount(share))) ?? [];
    const client = largest(this.all, (one) => (one.user === user && one.network === name ? rank(one) : 0));
    if (client) this.drop(client, 'room');
    return client !== undefined;
  }

  private drop(client: WaitingClient, cause: Cause): void {
    if (!this.all.has(client)) return;
    this.dropped[cause]++;
    client.drop(cause);
  }
}

const clientsOf = ({ clients }: Share): number => clients;
const bytesOf = ({ heldBytes }: { readonly heldBytes: number }): number => heldBytes;
const slowness = ({ pace }: WaitingClient): number => 1 / pace;

/** The last one with the largest amount above 0. Of networks, whichever came first goes on. */
function largest<One>(all: Iterable<One>, amount: (one: One) => number): One | undefined {
  let found: One | undefined;
  let most = 0;
  for (const one of all) {
    const its = amount(one);
    if (its === 0 || its < most) continue;
    found = one;
    most = its;
  }
  return found;
}
