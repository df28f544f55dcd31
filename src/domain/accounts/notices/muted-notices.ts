import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Clock } from '../../../platform/clock/index.js';
import { Database } from '../../../platform/database/index.js';
import { MutedNotice } from './muted-notice.entity.js';
import { noticeStatements } from './notices.queries.js';

/** The mails that a user can turn off, and what each is about. Security notices are not among them. */
export const MUTABLE_NOTICES = {
  'trial-ends': 'a trial that ends in three days',
  'payment-failed': 'a payment that failed',
} as const;

export type MutableNotice = keyof typeof MUTABLE_NOTICES;

export const ALL_MUTABLE = Object.keys(MUTABLE_NOTICES) as readonly MutableNotice[];

/** The table `muted_notices`: which mails a user has turned off. Every change can be repeated. */
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
