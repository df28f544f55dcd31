import { Injectable } from '@nestjs/common';
import { type Counter, Metrics } from '../../platform/metrics.js';
import { CloseCode, type Connection } from './socket-connection.js';

const NONE: ReadonlySet<Connection> = new Set();

/** All open sockets of this instance. */
@Injectable()
export class Connections implements Iterable<Connection> {
  /** Messages sent over all sockets. */
  readonly sent: Counter;

  private readonly all = new Set<Connection>();
  private readonly perUser = new Map<string, Set<Connection>>();
  private readonly perAddress = new Map<string, Set<Connection>>();
  private readonly perWorkspace = new Map<string, Set<Connection>>();

  constructor(metrics: Metrics) {
    this.sent = metrics.counter('cloud_sync_socket_messages_sent_total', 'Messages sent to sockets');
    metrics.gauge(
      'cloud_sync_sockets',
      'Open sockets: joined a room, or waiting for hello',
      ['state'],
      () => {
        const joined = [...this.all].filter(({ deviceId }) => deviceId !== undefined).length;
        return [
          { labels: { state: 'joined' }, value: joined },
          { labels: { state: 'waiting' }, value: this.all.size - joined },
        ];
      },
    );
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.all[Symbol.iterator]();
  }

  get size(): number {
    return this.all.size;
  }

  countOf(userId: string): number {
    return this.perUser.get(userId)?.size ?? 0;
  }

  countOfAddress(addressKey: string): number {
    return this.perAddress.get(addressKey)?.size ?? 0;
  }

  /** The sockets of a workspace, including those that have not said hello. */
  of(workspaceId: string): ReadonlySet<Connection> {
    return this.perWorkspace.get(workspaceId) ?? NONE;
  }

  add(connection: Connection): void {
    const { workspaceId, addressKey, principal } = connection;
    this.all.add(connection);
    put(this.perUser, principal.userId, connection);
    put(this.perAddress, addressKey, connection);
    put(this.perWorkspace, workspaceId, connection);
  }

  remove(connection: Connection): void {
    if (!this.all.delete(connection)) return;
    const { workspaceId, addressKey, principal } = connection;
    take(this.perUser, principal.userId, connection);
    take(this.perAddress, addressKey, connection);
    take(this.perWorkspace, workspaceId, connection);
  }

  /**
   * Closes a socket of the user with the most sockets, otherwise of the address with the most: first one that has not said hello,
   * then the one that was silent for longest.
   * @returns false when neither has more sockets than the client that needs the room would have
   */
  makeRoomFor(userId: string, addressKey: string): boolean {
    const idlest =
      idlestOf(this.perUser, this.countOf(userId)) ??
      idlestOf(this.perAddress, this.countOfAddress(addressKey));
    if (!idlest) return false;
    this.remove(idlest); // frees the place at once; the socket closes later
    idlest.close(CloseCode.tryAgainLater);
    return true;
  }

  /** The workspaces that have at least one socket. */
  workspaceIds(): string[] {
    return [...this.perWorkspace.keys()];
  }

  closeWhere(isMeant: (connection: Connection) => boolean, code: CloseCode): void {
    for (const connection of this.all) if (isMeant(connection)) connection.close(code);
  }
}

/** The idlest socket of the largest group; undefined unless that group is larger than `own` plus one. */
function idlestOf(groups: ReadonlyMap<string, ReadonlySet<Connection>>, own: number): Connection | undefined {
  let most: ReadonlySet<Connection> = NONE;
  for (const group of groups.values()) if (group.size > most.size) most = group;
  const [first, ...others] = most;
  if (!first || most.size <= own + 1) return undefined;
  return others.reduce((one, other) => (isIdler(other, one) ? other : one), first);
}

function isIdler(one: Connection, other: Connection): boolean {
  if ((one.deviceId === undefined) !== (other.deviceId === undefined)) return one.deviceId === undefined;
  return one.lastHeard < other.lastHeard;
}

function put(groups: Map<string, Set<Connection>>, key: string, connection: Connection): void {
  const group = groups.get(key) ?? new Set();
  groups.set(key, group.add(connection));
}

function take(groups: Map<string, Set<Connection>>, key: string, connection: Connection): void {
  const group = groups.get(key);
  group?.delete(connection);
  if (group?.size === 0) groups.delete(key);
}
