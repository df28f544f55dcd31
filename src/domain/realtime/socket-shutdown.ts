import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Log } from '../../platform/log/index.js';
import { CloseCode } from './close-codes.js';
import { Connections } from './connections.js';
import { UpgradeAuthorizer } from './upgrade-authorizer.js';
import { Presence } from './presence.js';

const GOODBYE_MS = 2_000;

/**
 * At shutdown, sockets are closed first, with a close code that tells clients to reconnect; requests in progress
 * finish afterwards.
 */
@Injectable()
export class SocketShutdown implements OnModuleDestroy {
  constructor(
    private readonly authorizer: UpgradeAuthorizer,
    private readonly connections: Connections,
    private readonly presence: Presence,
    private readonly log: Log,
  ) {}

  async onModuleDestroy(): Promise<void> {
    this.authorizer.close();
    const deadline = performance.now() + GOODBYE_MS;
    do {
      this.connections.closeWhere(() => true, CloseCode.goingAway); // includes sockets that were being admitted
      await new Promise((resolve) => setTimeout(resolve, 10));
    } while (this.connections.size > 0 && performance.now() < deadline);
    for (const connection of this.connections) connection.cut();
    await this.log.bestEffort('end the lease', () => this.presence.endLease());
  }
}
