import { Injectable } from '@nestjs/common';
import type { Runner } from './audit/index.js';
import { TooManyRequests } from '../../platform/http/index.js';
import { GuessLimit } from './guess-limit.js';
import { WrongPasswords } from './wrong-passwords.js';

/** Limits mails that callers without a session can have sent. The same holds for addresses without an account. */
@Injectable()
export class MailLimit {
  constructor(
    private readonly guessLimit: GuessLimit,
    private readonly wrongPasswords: WrongPasswords,
  ) {}

  /**
   * Counts a request for a mail.
   * @param action distinguishes the counts of different mails
   * @throws TooManyRequests as `GuessLimit.count`, and after five mails an hour to the address
   */
  async count(action: string, email: string, ip: string): Promise<void> {
    await this.guessLimit.count(action, ip);
    await this.wrongPasswords.countMail(`${action}:${email.toLowerCase()}`);
  }

  /** Counts a mail that nobody has asked for by its address. Returns false, and throws nothing, after five an hour to it. */
  async hasRoom(kind: string, email: string, run?: Runner): Promise<boolean> {
    try {
      await this.wrongPasswords.countMail(`${kind}:${email.toLowerCase()}`, run);
      return true;
    } catch (error) {
      if (error instanceof TooManyRequests) return false;
      throw error;
    }
  }
}
