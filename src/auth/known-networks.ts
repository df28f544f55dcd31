import { Injectable } from '@nestjs/common';
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
 * The networks from which users have signed in with their password. A client cannot fake its network: it is the source of the
 * connection.
 */
@Injectable()
export class KnownNetworks {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Call this after a session has begun with a password. */
  async note(userId: string, ip: string): Promise<void> {
    await this.database.run(note, [userId, networkKey(ip), this.clock.now(), MOST_KNOWN]);
  }
}
