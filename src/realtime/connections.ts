import { Injectable } from '@nestjs/common';
import type { CloseCode } from './close-codes.js';
import type { Connection } from './connection.js';

/** All open sockets of this instance. */
@Injectable()
export class Connections implements Iterable<Connection> {
  private readonly all = new Set<Connection>();
  private readonly perUser = new Map<string, number>();

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
