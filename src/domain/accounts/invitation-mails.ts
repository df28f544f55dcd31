import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { LinkTokens } from '../auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import { Mail, type Prepared, type QueuedMail } from '../../platform/mail/index.js';
import type { Tx } from '../../platform/database/index.js';

/** The open invitation that a link belongs to. */
export interface InvitationOfLink {
  readonly email: string;
  readonly expiresAt: Date;
}

type Find = (token: string) => Promise<InvitationOfLink | undefined>;

/**
 * The links of invitations, and the mails that carry them. A queued mail has the id that its link is derived from, which is worth
 * nothing without the service's secret.
 */
@Injectable()
export class InvitationMails {
  constructor(
    private readonly mail: Mail,
    private readonly tokens: LinkTokens,
    private readonly configuration: Configuration,
  ) {}

  /** Whether invitations are mailed. */
  get areOn(): boolean {
    return this.mail.isOn;
  }

  newLink(): { readonly id: string; readonly token: string; readonly link: string } {
    const id = randomUUID();
    const token = this.tokenOf(id);
    return { id, token, link: this.linkOf(token) };
  }

  /** Queues the mail of an invitation in the transaction that makes it. Does nothing where the service cannot send mail. */
  async queue(id: string, email: string, tx: Tx): Promise<void> {
    await this.mail.queue({ template: 'invitation', to: email, parameters: { id } }, tx);
  }

  /** @param find looks an invitation up: the mail of one that is used, revoked, replaced or over is not sent */
  whenSending(find: Find): void {
    this.mail.prepare('invitation', (queued) => this.prepare(queued, find));
  }

  private async prepare({ to, parameters }: QueuedMail, find: Find): Promise<Prepared | undefined> {
    const token = this.tokenOf(parameters['id'] ?? '');
    const invitation = await find(token);
    if (invitation?.email !== to) return undefined;
    const expires = invitation.expiresAt.toISOString();
    return { to, template: 'invitation', parameters: { link: this.linkOf(token), expires } };
  }

  private tokenOf(id: string): string {
    return this.tokens.of('invitation', id);
  }

  private linkOf(token: string): string {
    return `${this.configuration.publicUrl}/account/invitation?token=${token}`;
  }
}
