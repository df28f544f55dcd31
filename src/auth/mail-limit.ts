import { Injectable } from '@nestjs/common';
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
}
