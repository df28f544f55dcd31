import { Injectable } from '@nestjs/common';
import { type EntityManager, IsNull, Not } from 'typeorm';
import { type Acting, AuditLog } from '../audit/index.js';
import { Configuration } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { Conflict, NotFound } from '../../../platform/http/index.js';
import { AccessEndings } from '../access-endings.js';
import { AuthAccount, credentialOf, linkOf } from '../auth-account.entity.js';
import { lockUser } from '../lock-user.js';
import { Passkey } from '../passkeys/index.js';

/** How an account is linked to the provider of single sign-on. */
export interface LinkState {
  readonly isLinked: boolean;
  /** Whether its user can sign in without the provider: by a password or a passkey, while these are not switched off. */
  readonly hasAnotherWay: boolean;
}

/** What `unlink` has done. */
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
   * tokens stay. Whoever signs in at the provider with the address of the account later, verified there, links it again.
   * @param keptSession the session of a user who acts; an operator gives none, and may take the last way to sign in
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
