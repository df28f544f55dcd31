import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';

/** The mails that a user can turn off, and what each is about. Security notices are not among them. */
export const MUTABLE_NOTICES = {
  'trial-ends': 'a trial that ends in three days',
  'payment-failed': 'a payment that failed',
} as const;

export type MutableNotice = keyof typeof MUTABLE_NOTICES;

export const ALL_MUTABLE = Object.keys(MUTABLE_NOTICES) as readonly MutableNotice[];

/** A statement that locks the account with the id $1 against deletion; without it, it changes nothing. */
const OWNER = 'owner AS (SELECT id FROM users WHERE id = $1 FOR KEY SHARE)';

const statements = {
  of: statement('muted_notices.of', 'SELECT notice FROM muted_notices WHERE user_id = $1'),

  isMuted: statement(
    'muted_notices.is_muted',
    'SELECT 1 FROM muted_notices WHERE user_id = $1 AND notice = $2',
  ),

  mute: statement(
    'muted_notices.mute',
    `WITH ${OWNER} INSERT INTO muted_notices (user_id, notice, muted_at) SELECT id, $2::text, $3::timestamptz FROM owner
     ON CONFLICT DO NOTHING`,
  ),

  /** Of the kinds $2, those in $3 are turned off and the others on. Kinds that only a newer version knows stay as they are. */
  choose: statement(
    'muted_notices.choose',
    `WITH ${OWNER}, turned_on AS (
       DELETE FROM muted_notices WHERE user_id = $1 AND notice = ANY ($2::text[]) AND notice <> ALL ($3::text[])
     )
     INSERT INTO muted_notices (user_id, notice, muted_at) SELECT id, notice, $4::timestamptz FROM owner, unnest($3::text[]) AS notice
     ON CONFLICT DO NOTHING`,
  ),
};

/** The table `muted_notices`: which mails a user has turned off. Every change can be repeated. */
@Injectable()
export class MutedNotices {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The kinds that are on. */
  async wanted(userId: string): Promise<readonly MutableNotice[]> {
    const rows = await this.database.run<{ notice: string }>(statements.of, [userId]);
    const muted = new Set(rows.map(({ notice }) => notice));
    return ALL_MUTABLE.filter((notice) => !muted.has(notice));
  }

  async isMuted(userId: string, notice: MutableNotice): Promise<boolean> {
    return (await this.database.run(statements.isMuted, [userId, notice])).length > 0;
  }

  /** Does nothing for an account that does not exist. */
  async mute(userId: string, notice: MutableNotice): Promise<void> {
    await this.database.run(statements.mute, [userId, notice, this.clock.now()]);
  }

  /** Turns the kinds in `wanted` on and all others off. */
  async choose(userId: string, wanted: readonly MutableNotice[]): Promise<void> {
    const muted = ALL_MUTABLE.filter((notice) => !wanted.includes(notice));
    await this.database.run(statements.choose, [userId, [...ALL_MUTABLE], muted, this.clock.now()]);
  }
}
