import { type FactoryProvider, Inject, Injectable } from '@nestjs/common';
import { createHmac, hkdfSync } from 'node:crypto';
import { Configuration, keptSecret } from '../../platform/config/index.js';

export const LINK_KEY = Symbol('LINK_KEY');

export const provideLinkKey: FactoryProvider<Buffer> = {
  provide: LINK_KEY,
  inject: [Configuration],
  useFactory: async ({ authSecret, dataDir }: Configuration) =>
    Buffer.from(
      hkdfSync('sha256', authSecret ?? (await keptSecret(dataDir, 'auth-secret')), '', 'mail-links', 32),
    ),
};

/**
 * Tokens of links in mails, derived from a secret of the service. Whoever has the database but not the secret can make none, and
 * each attempt at a mail has the same.
 */
@Injectable()
export class LinkTokens {
  constructor(@Inject(LINK_KEY) private readonly key: Buffer) {}

  /**
   * 43 characters of base64url.
   * @param purpose what the link does; a constant without `|`
   * @param subject what it is about, unique within the purpose
   */
  of(purpose: string, subject: string): string {
    return createHmac('sha256', this.key).update(`${purpose}|${subject}`).digest('base64url');
  }
}
