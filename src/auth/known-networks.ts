import { Injectable } from '@nestjs/common';
import { AuditLog } from '../audit/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { networkKey } from '../platform/http/index.js';

/** How long a network stays known after the last sign-in from it. */
export const KNOWN_FOR_MS = 90 * 24 * 60 * 60_000;

/** How many networks are kept for each user; the oldest are removed first. */
const MOST_KNOWN = 50;

const note = statement(
  'known_networks.note',
  `WITH noted AS (
     INSERT INTO known_networks AS k (user_id, network, last_seen_at) VALUES ($1, $2, $3)
     ON CONFLICT (user_id, network) DO UPDATE SET last_seen_at = greatest(k.last_seen_at, excluded.last_seen_at)
   )
   DELETE FROM known_networks WHERE user_id = $1 AND network <> $2 AND network NOT IN (
     SELECT network FROM known_networks WHERE user_id = $1 AND network <> $2
     ORDER BY last_seen_at DESC, network LIMIT $4 - 1
   )`,
);

/**
 * Whether the user has signed in before, and whether from this network. An account that is older than any network is kept has
 * been signed in to, also when no network of it is known any more.
 */
const known = statement(
  'known_networks.known',
  `SELECT u.created_at <= $3 OR count(k.network) > 0 AS "isLater", coalesce(bool_or(k.network = $2), false) AS "isKnown"
   FROM users u LEFT JOIN known_networks k ON k.user_id = u.id AND k.last_seen_at > $3
   WHERE u.id = $1 GROUP BY u.id`,
);

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
    const [found] = await this.database.run<{ isLater: boolean; isKnown: boolean }>(known, values);
    if (found?.isLater && !found.isKnown)
      await this.audit.record({ action: 'sign-in.new-client', userId, actor: 'user', ip, userAgent });
    await this.database.run(note, [userId, networkKey(ip), this.clock.now(), MOST_KNOWN]);
  }
}
