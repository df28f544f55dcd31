import { Injectable } from '@nestjs/common';
import { AuditLog } from '../../audit/index.js';
import { Configuration } from '../../config/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database, statement, type Tx } from '../../platform/database/index.js';
import { AccessEndings, type Ended } from '../access-endings.js';
import type { Client } from '../browser-sessions.js';
import { AccountSuspended } from '../suspensions.js';

const linkStatements = {
  owner: statement(
    'linked_accounts.owner',
    'SELECT user_id AS "userId" FROM auth_accounts WHERE provider_id = $1 AND account_id = $2',
  ),

  addUser: statement(
    'linked_accounts.add_user',
    `INSERT INTO users (email, name, email_verified, created_at, updated_at) VALUES ($1, $2, true, $3, $3)
     ON CONFLICT (email) DO NOTHING RETURNING id`,
  ),

  /** Of several requests, also of those with the link of the invitation, the first one gets the row. */
  useInvitation: statement(
    'linked_accounts.use_invitation',
    'DELETE FROM invitations WHERE email = $1 AND expires_at > $2 RETURNING email',
  ),

  userAt: statement(
    'linked_accounts.user_at',
    `SELECT id, email_verified AS "isVerified", suspended_at IS NOT NULL AS "isSuspended"
     FROM users WHERE email = $1 FOR UPDATE`,
  ),

  others: statement(
    'linked_accounts.others',
    'SELECT 1 FROM auth_accounts WHERE user_id = $1 AND provider_id = $2 AND account_id <> $3',
  ),

  /** Somebody else may have linked the same subject since it was looked for. */
  link: statement(
    'linked_accounts.link',
    `INSERT INTO auth_accounts (user_id, account_id, provider_id, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
     ON CONFLICT (provider_id, account_id) WHERE provider_id <> 'credential' DO NOTHING RETURNING id`,
  ),

  verify: statement('linked_accounts.verify', 'UPDATE users SET email_verified = true WHERE id = $1'),
};

/** A person whom the provider has identified, with an address that it has verified. */
export interface VerifiedPerson {
  readonly subject: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  /** The user who is signed in with the browser and has given a password or another factor recently, if any. */
  readonly provenUserId: string | undefined;
  readonly client: Client;
}

/** `no-account`: there is none with this address, which is not invited, and sign-up is closed. `other-person`: it is linked to another subject. */
export type LinkRefusal = 'no-account' | 'other-person';

type Linked = { userId: string; ended?: Ended } | { refusal: LinkRefusal };

/** Another request of the same person was first. Rolls back what this one has done, which may include a new account. */
class LinkedMeanwhile extends Error {}

/** The accounts of people at the provider: each is found by issuer and subject, whatever becomes of their address there. */
@Injectable()
export class LinkedAccounts {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly configuration: Configuration,
    private readonly endings: AccessEndings,
    private readonly auditLog: AuditLog,
  ) {}

  /** The id of the user who is linked to a subject. */
  async find(subject: string): Promise<string | undefined> {
    const values = [this.providerId, subject];
    return (await this.database.run<{ userId: string }>(linkStatements.owner, values))[0]?.userId;
  }

  /**
   * Links the subject to the account with its address, or to a new one; an open invitation of the address is used up. An address
   * that was never verified here may have been entered by somebody else: whoever now proves that it is theirs gets the account, and
   * all earlier access to it ends, unless the person has just shown that it is theirs too.
   * @throws AccountSuspended
   */
  async link(person: VerifiedPerson): Promise<{ userId: string } | { refusal: LinkRefusal }> {
    try {
      const linked = await this.database.transaction((tx) => this.linkIn(tx, person));
      if ('refusal' in linked) return linked;
      if (linked.ended) this.endings.announce(linked.ended);
      return { userId: linked.userId };
    } catch (error) {
      const userId = error instanceof LinkedMeanwhile ? await this.find(person.subject) : undefined;
      if (userId === undefined) throw error;
      return { userId };
    }
  }

  private async linkIn(tx: Tx, person: VerifiedPerson): Promise<Linked> {
    const now = this.clock.now();
    const { subject, provenUserId } = person;
    const user = await this.userFor(tx, person, now);
    if (!user) return { refusal: 'no-account' };
    if (user.isSuspended) throw new AccountSuspended();
    const others = await tx.run(linkStatements.others, [user.id, this.providerId, subject]);
    if (others.length > 0) return { refusal: 'other-person' };
    const added = await tx.run(linkStatements.link, [user.id, subject, this.providerId, now]);
    if (added.length === 0) throw new LinkedMeanwhile();
    const mustEnd = !user.isVerified && user.id !== provenUserId;
    const ended = mustEnd ? await this.endings.end(tx, user.id, 'first-proof') : undefined;
    await tx.run(linkStatements.verify, [user.id]);
    const details = {
      provider: this.configuration.oidcName ?? '',
      endsEarlierAccess: mustEnd,
      ...(user.isNew ? { isNewAccount: true } : {}),
    };
    await this.auditLog.record(
      { action: 'single-sign-on.linked', userId: user.id, actor: 'user', ...person.client, details },
      tx,
    );
    return { userId: user.id, ...(ended && { ended }) };
  }

  /** The account with the address, under its lock; a new one if sign-up is open or the address is invited. */
  private async userFor(
    tx: Tx,
    { email, name, client }: VerifiedPerson,
    now: Date,
  ): Promise<Found | undefined> {
    const found = async (): Promise<Found | undefined> =>
      (await tx.run<Found>(linkStatements.userAt, [email]))[0];
    const user = await found();
    if (user) return user;
    const isInvited = (await tx.run(linkStatements.useInvitation, [email, now])).length > 0;
    const [added] =
      isInvited || this.configuration.signupEnabled
        ? await tx.run<{ id: string }>(linkStatements.addUser, [email, name, now])
        : [];
    // A concurrent request with the same address may have won; its account is like any other that exists.
    if (!added) return found();
    if (isInvited)
      await this.auditLog.record(
        { action: 'account.joined', userId: added.id, actor: 'user', ...client },
        tx,
      );
    return { id: added.id, isVerified: true, isSuspended: false, isNew: true };
  }

  private get providerId(): string {
    return `oidc:${this.configuration.oidcIssuer ?? ''}`;
  }
}

interface Found {
  readonly id: string;
  readonly isVerified: boolean;
  readonly isSuspended: boolean;
  /** Made by this sign-in. */
  readonly isNew?: true;
}
