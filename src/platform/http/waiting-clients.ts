import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DenseSet } from '../async.js';
import { requestScope } from '../log.js';

/** Minimum pace of a body: this many bytes per interval, an interval being this many checks in which its client was silent. */
export const LEAST_BYTES = 16 * 1024;
export const LOOK_EVERY_MS = 5_000;
export const LOOKS_OF_INTERVAL = 6;

/**
 * Clients dropped per turn of the event loop: dropping a thousand at once would delay other requests, and they would all count as
 * in progress until each is answered.
 */
const DROPPED_AT_ONCE = 20;

/** Limits for all waiting clients together. A waiting request costs about 30 KiB, plus the bytes that are held for it. */
const MOST = { clients: 4_000, heldBytes: 128 * 1024 * 1024 };

/** The usage of a network, or of one of its users. */
interface Share {
  clients: number;
  heldBytes: number;
}

const NOTHING: Share = { clients: 0, heldBytes: 0 };

interface Network extends Share {
  unsentBodies: number;
  readonly users: Map<string, Share>;
}

/** Key for the unauthenticated clients of a network, which count as one user. */
const STRANGERS = '';

/** Why a client was dropped: it was below the minimum pace, or room was needed. */
export type Cause = 'pace' | 'room';

/** A client that must send the rest of a body, or read a response that is held for it. Call `leave` when it is done. */
export class WaitingClient {
  /** Whether the service waits for it. */
  isSilent = false;
  heldBytes = 0;
  /** Bytes that were sent or read since the client was registered. */
  progress = 0;
  private progressBefore = 0;
  private looks = 0;
  private hasLeft = false;

  /** @param onDrop aborts the client's request; called once, after the client has left */
  constructor(
    private readonly all: WaitingClients,
    readonly network: string,
    readonly user: string,
    readonly isBody: boolean,
    private onDrop: ((cause: Cause) => void) | undefined,
  ) {}

  /** Bytes per check so far, with a credit of one interval at the start, so that a new client does not count as slow. */
  get pace(): number {
    return (this.progress + LEAST_BYTES) / (this.looks + 1);
  }

  /** Call this when the service has nothing to do until the client continues. */
  wait(): void {
    if (this.isSilent || this.hasLeft) return;
    this.isSilent = true;
    this.all.noteSilence(this, 1);
  }

  count(bytes: number): void {
    this.progress += bytes;
  }

  /** Call this when the client has continued. */
  goOn(): void {
    if (!this.isSilent) return;
    this.isSilent = false;
    this.all.noteSilence(this, -1);
  }

  /** Sets the number of bytes that are held in memory for this client. */
  hold(bytes: number): void {
    if (this.hasLeft) return;
    const more = bytes - this.heldBytes;
    this.heldBytes = bytes;
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

  /** Returns whether an interval has just ended in which the client was below the minimum pace. */
  look(): boolean {
    if (!this.isSilent) return false;
    this.looks++;
    if (!this.isBody || this.looks % LOOKS_OF_INTERVAL !== 0) return false;
    const isSlow = this.progress - this.progressBefore < LEAST_BYTES;
    this.progressBefore = this.progress;
    return isSlow;
  }
}

const ofServers = new WeakMap<Server, WaitingClients>();

/**
 * All clients that the service waits for. A waiting request holds no slot of a queue and does not count as in progress; instead,
 * it has a minimum pace and separate limits. Beyond a limit, the network with the highest usage loses a client, of its user with
 * the highest usage: the slowest one, or the one for which the most bytes are held. A thousand slow clients of a few networks
 * therefore do not affect other clients.
 */
export class WaitingClients implements Iterable<WaitingClient> {
  readonly most = { ...MOST };
  readonly dropped: Record<Cause, number> = { pace: 0, room: 0 };
  private readonly all = new DenseSet<WaitingClient>();
  private readonly networks = new Map<string, Network>();
  heldBytes = 0;
  /** Number of requests that are not in progress because their clients do not send. */
  unsentBodies = 0;
  private timer: NodeJS.Timeout | undefined;

  /** The clients of the server that received a request; undefined for a request that no server received. */
  static of({ socket }: IncomingMessage): WaitingClients | undefined {
    const { server } = socket as Socket & { server?: Server };
    return server && ofServers.get(server);
  }

  get size(): number {
    return this.all.size;
  }

  /** `unsentBodies` of one network. */
  unsentBodiesOf(network: string): number {
    return this.networks.get(network)?.unsentBodies ?? 0;
  }

  /** Raises the limit so that a single client is never dropped for the size of its body. */
  makeRoomFor(largestBody: number): void {
    this.most.heldBytes = Math.max(this.most.heldBytes, largestBody + MOST.heldBytes / 4);
  }

  /** Tracks the clients of a server until it is closed. */
  watch(server: Server): void {
    ofServers.set(server, this);
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
    server.once('close', () => this.stopLooking());
  }

  /** Stops dropping clients for their pace. */
  stopLooking(): void {
    clearInterval(this.timer);
  }

  [Symbol.iterator](): Iterator<WaitingClient> {
    return this.all[Symbol.iterator]();
  }

  /** Registers a client. Call this within the scope of its request. */
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

  /** Drops bodies below the minimum pace. Counts checks instead of time, so that a pause of the process drops no client. */
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
      this.unsentBodies += by;
      const network = this.networks.get(client.network);
      if (network) network.unsentBodies += by;
    }
    // Not before it is silent: if its network ties with others, this client is the one to drop.
    while (by > 0 && this.all.size > this.most.clients && this.dropOne(clientsOf, slowness));
  }

  noteHeld(client: WaitingClient, more: number): void {
    this.heldBytes += more;
    const network = this.networks.get(client.network);
    const user = network?.users.get(client.user);
    if (network) network.heldBytes += more;
    if (user) user.heldBytes += more;
    while (more > 0 && this.heldBytes > this.most.heldBytes && this.dropOne(bytesOf, bytesOf));
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
   * Drops a client of the largest share only; otherwise, the user with the largest share could cause other users' clients to be
   * dropped. The client need not be silent: it may be the one that grows.
   * @param amount what is compared between shares
   * @param rank of a client in its share: the highest is dropped, 0 never
   * @returns whether a client was dropped
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

/** The last element with the largest amount above 0: among equal networks, the earliest keeps its clients. */
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
