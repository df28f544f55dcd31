import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, IsNull, MoreThan, Not, Repository } from 'typeorm';
import { AccountSuspended } from '../../../access/index.js';
import { Clock } from '../../../platform/clock.js';
import { Configuration } from '../../../platform/config/index.js';
import { Database, type Tx } from '../../../platform/database/index.js';
import { Conflict, NotFound } from '../../../platform/http/index.js';
import { AccessEndings, type Ended } from '../access-endings.js';
import { lockUser } from '../account-fields.js';
import { type Acting, AuditLog } from '../audit/index.js';
import {
  AuthAccount,
  AuthVerification,
  createUser,
  credentialOf,
  Invitation,
  linkOf,
  UserEntity,
} from '../auth.entities.js';
import { linkedAccountStatements } from '../auth.queries.js';
import type { Client } from '../identity-request.js';
import { Passkey } from '../passkeys/index.js';

/** A person whom the provider has identified, with an address that it has verified. */
export interface VerifiedPerson {
  readonly subject: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  /** The user who is signed in in the browser and has given a password or another factor recently, if any. */
  readonly provenUserId: string | undefined;
  readonly client: Client;
}

/**
 * `no-account`: no account has the address, it is not invited, and sign-up is closed. `other-person`: the account is linked to
 * another subject.
 */
export type LinkRefusal = 'no-account' | 'other-person';

type Linked = { userId: string; ended?: Ended } | { refusal: LinkRefusal };

/** A concurrent request has linked the same subject. Rolls back the changes of this one, which may include a new account. */
class LinkedMeanwhile extends Error {}

/** The accounts of the provider's users: each is found by issuer and subject, even if the address at the provider changes. */
@Injectable()
export class LinkedAccounts {
  constructor(
    @InjectRepository(AuthAccount) private readonly accounts: Repository<AuthAccount>,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly configuration: Configuration,
    private readonly endings: AccessEndings,
    private readonly auditLog: AuditLog,
  ) {}

  /** The id of the user who is linked to a subject. */
  async find(subject: string): Promise<string | undefined> {
    return (await this.accounts.findOneBy({ providerId: this.providerId, accountId: subject }))?.userId;
  }

  /**
   * Links the subject to the account with its address, or to a new one; uses up an open invitation of the address. An address
   * never verified here may have been entered by a stranger: the person who now proves it gets the account, and all earlier
   * access to it ends, unless that person has also just signed in to the account.
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
    if (user.suspendedAt) throw new AccountSuspended();
    const { providerId } = this;
    const another = { userId: user.id, providerId, accountId: Not(subject) };
    if (await tx.manager.getRepository(AuthAccount).existsBy(another)) return { refusal: 'other-person' };
    const added = await tx.run(linkedAccountStatements.link, [user.id, subject, providerId, now]);
    if (added.length === 0) throw new LinkedMeanwhile();
    const mustEnd = !user.emailVerified && user.id !== provenUserId;
    const ended = mustEnd ? await this.endings.end(tx, user.id, 'first-proof') : undefined;
    await tx.manager.getRepository(UserEntity).update({ id: user.id }, { emailVerified: true });
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
  private async userFor(tx: Tx, { email, name, client }: VerifiedPerson, now: Date): Promise<Found | null> {
    const users = tx.manager.getRepository(UserEntity);
    const user = await lockAddress(users, email);
    if (user) return user;
    // Only one request gets the row: one through the provider, or one with the link of the invitation.
    const used = await tx.manager.getRepository(Invitation).delete({ email, expiresAt: MoreThan(now) });
    const isInvited = used.affected === 1;
    const mayJoin = isInvited || this.configuration.signupEnabled;
    const id = mayJoin ? await createUser(users, { email, name, now }) : undefined;
    // A concurrent request with the same address may have won; its account is like any other that exists.
    if (id === undefined) return lockAddress(users, email);
    if (isInvited)
      await this.auditLog.record({ action: 'account.joined', userId: id, actor: 'user', ...client }, tx);
    return { id, emailVerified: true, suspendedAt: null, isNew: true };
  }

  private get providerId(): string {
    return `oidc:${this.configuration.oidcIssuer ?? ''}`;
  }
}

interface Found extends Pick<UserEntity, 'id' | 'emailVerified' | 'suspendedAt'> {
  /** Whether this sign-in created it. */
  readonly isNew?: true;
}

/** The account with an address, locked until the transaction ends. */
function lockAddress(users: Repository<UserEntity>, email: string): Promise<Found | null> {
  const select = { id: true, emailVerified: true, suspendedAt: true } as const;
  return users.findOne({ select, where: { email }, lock: { mode: 'pessimistic_write' } });
}

/** How an account is linked to the provider of single sign-on. */
export interface LinkState {
  readonly isLinked: boolean;
  /** Whether its user can sign in without the provider: by a password or a passkey, while these are not switched off. */
  readonly hasAnotherWay: boolean;
}

export interface Unlinked {
  readonly hasAnotherWay: boolean;
  /** How many sessions have ended. */
  readonly sessions: number;
}

/** Ends the links between accounts and the provider of single sign-on. */
@Injectable()
export class ProviderLinks {
  constructor(
    private readonly database: Database,
    private readonly configuration: Configuration,
    private readonly audit: AuditLog,
    private readonly endings: AccessEndings,
  ) {}

  state(userId: string): Promise<LinkState> {
    return this.stateIn(this.database.dataSource.manager, userId);
  }

  /**
   * Ends the link, sign-ins that wait for a code, and all sessions but `keptSession`, atomically. Password, passkeys and access
   * tokens stay. A later sign-in at the provider with the account's address, verified there, links it again.
   * @param keptSession the session of the acting user; null for an operator, who may remove the last way to sign in
   * @throws NotFound without a link, Conflict when it is the user's last way to sign in
   */
  unlink(userId: string, by: Acting, keptSession: string | null = null): Promise<Unlinked> {
    return this.database.transaction(async (tx) => {
      if (!(await lockUser(tx, userId))) throw new NotFound('user not found');
      const { isLinked, hasAnotherWay } = await this.stateIn(tx.manager, userId);
      if (!isLinked) throw new NotFound('the account is not linked to single sign-on');
      if (keptSession !== null && !hasAnotherWay)
        throw new Conflict('single sign-on is the only way to sign in to this account');
      await tx.manager.getRepository(AuthAccount).delete(linkOf(userId));
      const ended = await this.endings.end(tx, userId, 'provider-unlinked', { ownSession: keptSession });
      const details = { provider: this.configuration.oidcName ?? '' };
      await this.audit.record({ action: 'single-sign-on.unlinked', userId, ...by, details }, tx);
      return { hasAnotherWay, sessions: ended.sessions };
    });
  }

  private async stateIn(manager: EntityManager, userId: string): Promise<LinkState> {
    const accounts = manager.getRepository(AuthAccount);
    const isLinked = await accounts.existsBy(linkOf(userId));
    const hasPassword = await accounts.existsBy({ ...credentialOf(userId), password: Not(IsNull()) });
    const canSignInHere = hasPassword || (await manager.getRepository(Passkey).existsBy({ userId }));
    return { isLinked, hasAnotherWay: canSignInHere && !this.configuration.oidcOnly };
  }
}

/** Time to sign in at the provider. The nightly job removes expired rows. */
const LIFETIME_MS = 15 * 60_000;

/** Sign-ins that continue at the provider, shared by all instances. A row contains no secret. */
@Injectable()
export class ProviderSignIns {
  constructor(
    @InjectRepository(AuthVerification) private readonly verifications: Repository<AuthVerification>,
    private readonly clock: Clock,
  ) {}

  /**
   * @param key known only to the browser that begins the sign-in
   * @param returnTo the path to which the browser returns afterwards
   */
  async add(key: string, returnTo: string): Promise<void> {
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + LIFETIME_MS);
    const begun = { identifier: identifierOf(key), value: returnTo, expiresAt };
    await this.verifications.insert({ ...begun, createdAt: now, updatedAt: now });
  }

  /** Takes a sign-in: possible once. Returns the path, or undefined when there is no such sign-in. */
  async take(key: string): Promise<string | undefined> {
    const begun = { identifier: identifierOf(key), expiresAt: MoreThan(this.clock.now()) };
    const found = await this.verifications.findOneBy(begun);
    if (!found) return undefined;
    const { affected } = await this.verifications.delete({ id: found.id }); // of several requests, one deletes it
    return affected === 1 ? found.value : undefined;
  }
}

const identifierOf = (key: string): string => `single-sign-on:${key}`;
