import { Injectable } from '@nestjs/common';
import type { BrowserSession } from '../../domain/auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import { ALL_MUTABLE, type MutableNotice, MutedNotices } from '../../domain/accounts/notices/index.js';
import type { Form } from '../layout/index.js';
import { NotFound } from '../../platform/http/index.js';

/** The form of the account page for mails that can be turned off. All of them are about the plan. */
@Injectable()
export class NoticesForm {
  constructor(
    private readonly muted: MutedNotices,
    private readonly configuration: Configuration,
  ) {}

  /** The kinds that are on; undefined where the service sends none of them. */
  async wanted(userId: string): Promise<readonly MutableNotice[] | undefined> {
    return this.areSent ? this.muted.wanted(userId) : undefined;
  }

  /** Turns the ticked kinds on and the others off. @throws NotFound where the service sends none of them */
  async choose({ userId }: BrowserSession, form: Form): Promise<void> {
    if (!this.areSent) throw new NotFound('not found');
    const ticked = form.all('notices');
    await this.muted.choose(
      userId,
      ALL_MUTABLE.filter((notice) => ticked.includes(notice)),
    );
  }

  private get areSent(): boolean {
    return this.configuration.hasMail && this.configuration.hasSubscriptions;
  }
}
