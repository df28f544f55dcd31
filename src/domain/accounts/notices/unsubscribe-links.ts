import { Injectable } from '@nestjs/common';
import { equalSecrets, LinkTokens } from '../../auth/index.js';
import { Configuration } from '../../../platform/config/index.js';
import { ALL_MUTABLE, type MutableNotice } from './muted-notices.js';

export const UNSUBSCRIBE = '/account/unsubscribe';

/** What a link turns off. */
export interface Unsubscription {
  readonly userId: string;
  readonly notice: MutableNotice;
}

/**
 * Links that turn off one kind of mail for one account, without a sign-in. They do not expire and can be used any number of times:
 * a mail may be read years later, and a mail provider may repeat its request. Their tokens are `KIND.ACCOUNT.SIGNATURE`.
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

  /** What a token turns off; undefined unless the service has made it. Does not look the account up. */
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
