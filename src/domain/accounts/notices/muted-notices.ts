import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import { Clock } from '../../../platform/clock.js';
import { Configuration } from '../../../platform/config/index.js';
import { Database, statement } from '../../../platform/database/index.js';
import { equalSecrets, LinkTokens } from '../../auth/index.js';

/** A kind of mail that a user has turned off. */
@Entity('muted_notices')
export class MutedNotice {
  @PrimaryColumn('uuid')
  userId: string;

  /** A kind of notice; this version does not know one that a newer version has stored. */
  @PrimaryColumn('text')
  notice: string;

  @Column('timestamptz')
  mutedAt: Date;
}

export const noticeStatements = {
  /**
   * Queues a mail for each trial that ends between $1 and $2, and for each failed payment; once, because the same statement notes
   * the time that it is about. $3: the link in the mail.
   */
  queueDue: statement(
    'billing_notices.queue_due',
    `WITH due AS (
       SELECT user_id, 'trial-ends' AS notice, trial_end AS about FROM subscriptions
       WHERE status = 'trial' AND trial_end > $1 AND trial_end <= $2
       UNION ALL
       SELECT user_id, 'payment-failed', past_due_since FROM subscriptions
       WHERE status = 'past_due' AND past_due_since IS NOT NULL
     ), noted AS (
       INSERT INTO mail_notices (user_id, notice, about)
       SELECT due.* FROM due JOIN users u ON u.id = due.user_id AND u.suspended_at IS NULL
       ON CONFLICT DO NOTHING RETURNING user_id, notice, about
     )
     INSERT INTO mail_queue (user_id, recipient, template, parameters, queued_at, due_at)
     SELECT u.id, u.email, notice,
            jsonb_build_object('link', $3::text, 'at', to_char(about AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), $1::timestamptz,
            $1::timestamptz
     FROM noted JOIN users u ON u.id = noted.user_id
     RETURNING template`,
  ),

  /**
   * Turns off the kinds in $3 and turns on the others of $2; kinds that only a newer version knows stay unchanged. Locks the
   * account against deletion; changes nothing if it does not exist.
   */
  choose: statement(
    'muted_notices.choose',
    `WITH owner AS (SELECT id FROM users WHERE id = $1 FOR KEY SHARE), turned_on AS (
       DELETE FROM muted_notices WHERE user_id = $1 AND notice = ANY ($2::text[]) AND notice <> ALL ($3::text[])
     )
     INSERT INTO muted_notices (user_id, notice, muted_at) SELECT id, notice, $4::timestamptz FROM owner, unnest($3::text[]) AS notice
     ON CONFLICT DO NOTHING`,
  ),
};

/** The mails that a user can turn off, and what each is about. Security notices are not among them. */
export const MUTABLE_NOTICES = {
  'trial-ends': 'a trial that ends in three days',
  'payment-failed': 'a payment that failed',
} as const;

export type MutableNotice = keyof typeof MUTABLE_NOTICES;

export const ALL_MUTABLE = Object.keys(MUTABLE_NOTICES) as readonly MutableNotice[];

/** The mails that each user has turned off. All changes are idempotent. */
@Injectable()
export class MutedNotices {
  constructor(
    @InjectRepository(MutedNotice) private readonly mutedNotices: Repository<MutedNotice>,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The kinds that are on. */
  async wanted(userId: string): Promise<readonly MutableNotice[]> {
    const rows = await this.mutedNotices.findBy({ userId });
    const muted = new Set(rows.map(({ notice }) => notice));
    return ALL_MUTABLE.filter((notice) => !muted.has(notice));
  }

  isMuted(userId: string, notice: MutableNotice): Promise<boolean> {
    return this.mutedNotices.existsBy({ userId, notice });
  }

  /** Does nothing for an account that does not exist. */
  async mute(userId: string, notice: MutableNotice): Promise<void> {
    await this.database.run(noticeStatements.choose, [userId, [notice], [notice], this.clock.now()]);
  }

  /** Turns the kinds in `wanted` on and all others off. */
  async choose(userId: string, wanted: readonly MutableNotice[]): Promise<void> {
    const muted = ALL_MUTABLE.filter((notice) => !wanted.includes(notice));
    await this.database.run(noticeStatements.choose, [userId, [...ALL_MUTABLE], muted, this.clock.now()]);
  }
}

export const UNSUBSCRIBE = '/account/unsubscribe';

/** The kind of mail that a link turns off, and for whom. */
export interface Unsubscription {
  readonly userId: string;
  readonly notice: MutableNotice;
}

/**
 * Links that turn off one kind of mail for one account, without a sign-in. They do not expire and can be used repeatedly: a mail
 * may be read years later, and a mail provider may repeat its request. Their tokens are `KIND.ACCOUNT.SIGNATURE`.
 */
@Injectable()
export class UnsubscribeLinks {
  constructor(
    private readonly tokens: LinkTokens,
    private readonly configuration: Configuration,
  ) {}

  linkFor(unsubscription: Unsubscription): string {
    return `${this.configuration.publicUrl}${UNSUBSCRIBE}?token=${this.tokenFor(unsubscription)}`;
  }

  /** What a token turns off; undefined for a token that the service has not made. Does not check the account. */
  read(token: string): Unsubscription | undefined {
    const [kind, userId = ''] = token.split('.');
    const notice = ALL_MUTABLE.find((one) => one === kind);
    if (notice === undefined) return undefined;
    return equalSecrets(token, this.tokenFor({ notice, userId })) ? { notice, userId } : undefined;
  }

  private tokenFor({ notice, userId }: Unsubscription): string {
    return `${notice}.${userId}.${this.tokens.of('unsubscribe', `${notice}|${userId}`)}`;
  }
}
