import { Injectable } from '@nestjs/common';
import { AuditLog } from './audit/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database } from '../../platform/database/index.js';
import { networkKey } from '../../platform/http/index.js';
import { knownNetworkStatements } from './auth.queries.js';

/** How long a network stays known after the last sign-in from it. */
export const KNOWN_FOR_MS = 90 * 24 * 60 * 60_000;

/** How many networks are kept for each user; the oldest are removed first. */
const MOST_KNOWN = 50;

/**
 * The networks from which users have signed in. A client cannot fake its network: it is the source of the
 * connection.
 */
@Injectable()
export class KnownNetworks {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Call this after a session has begun with a sign-in. A sign-in from a new network is recorded in the audit log, except the first
   * of an account.
   */
  async note(userId: string, ip: string, userAgent = ''): Promise<void> {
    const since = new Date(this.clock.now().getTime() - KNOWN_FOR_MS);
    const values = [userId, networkKey(ip), since];
    const [found] = await this.database.run<{ isLater: boolean; isKnown: boolean }>(
      knownNetworkStatements.known,
      values,
    );
    if (found?.isLater && !found.isKnown)
      await this.audit.record({ action: 'sign-in.new-client', userId, actor: 'user', ip, userAgent });
    await this.database.run(knownNetworkStatements.note, [
      userId,
      networkKey(ip),
      this.clock.now(),
      MOST_KNOWN,
    ]);
  }
}
