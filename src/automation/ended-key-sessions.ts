import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Database } from '../platform/database/index.js';
import { TrustedTime } from '../platform/jobs/index.js';
import { Log } from '../platform/log/index.js';
import { liveAt } from './key-session-lifetime.js';
import { keySessionStatements } from './key-sessions.queries.js';

const EVERY_MS = 60_000;

/** Removes the rows of sessions that nobody has ended. They opened nothing any more; those of a purged workspace go with it. */
@Injectable()
export class EndedKeySessions {
  constructor(
    private readonly database: Database,
    private readonly time: TrustedTime,
    private readonly log: Log,
  ) {}

  /** Those that have ended by themselves, or with their personal access token. */
  @Interval(EVERY_MS)
  async forget(): Promise<void> {
    await this.log.bestEffort('forget ended key sessions', async () =>
      this.database.run(keySessionStatements.forgetEnded, liveAt(await this.time.now())),
    );
  }
}
