import { Injectable } from '@nestjs/common';
import { type Counter, Metrics } from '../platform/metrics/index.js';
import type { CloseCode } from './close-codes.js';
import type { Connection } from './connection.js';

/** All open sockets of this instance. */
@Injectable()
export class Connections implements Iterable<Connection> {
  /** Messages that were sent to any of them. */
  readonly sent: Counter;

  private readonly all = new Set<Connection>();
  private readonly perUser = new Map<string, number>();

  constructor(metrics: Metrics) {
    this.sent = metrics.counter('cloud_sync_socket_messages_sent_total', 'Messages sent to sockets');
    metrics.gauge('cloud_sync_sockets', 'Open sockets: in a room, or before their hello', ['state'], () => {
      const joined = [...this.all].filter(({ deviceId }) => deviceId !== undefined).length;
      return [
        { labels: { state: 'joined' }, value: joined },
        { labels: { state: 'waiting' }, value: this.all.size - joined },
      ];
    });
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.all[Symbol.iterator]();
  }

  get size(): number {
    return this.all.size;
  }

  countOf(userId: string): number {
    return this.perUser.get(userId) ?? 0;
  }

  add(connection: Connection): void {
    const { userId } = connection.principal;
    this.all.add(connection);
    this.perUser.set(userId, this.countOf(userId) + 1);
  }

  remove(connection: Connection): void {
    if (!this.all.delete(connection)) return;
    const { userId } = connection.principal;
    const left = this.countOf(userId) - 1;
    if (left > 0) this.perUser.set(userId, left);
    else this.perUser.delete(userId);
  }

  /** The workspaces that any of them is for. */
  workspaceIds(): string[] {
    return [...new Set([...this.all].map(({ workspaceId }) => workspaceId))];
  }

  closeWhere(isMeant: (connection: Connection) => boolean, code: CloseCode): void {
    for (const connection of this.all) if (isMeant(connection)) connection.close(code);
  }
}
