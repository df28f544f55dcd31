import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { type Acting, AuditLog } from '../auth/audit/index.js';
import { AccessToken, Invitation, lockOwnUser, TOKEN_REVOKED, UserEntity } from '../auth/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { BadRequest, Unauthorized } from '../../platform/http/index.js';
import { WorkspaceDeletion } from '../workspaces/index.js';
import { accountStatements } from './accounts.queries.js';
import { CancellationOutbox } from './cancellation-outbox.js';

/** What must be announced after an account is deleted. */
interface Gone {
  /** Ids. */
  readonly workspaces: string[];
  readonly tokenIds: string[];
}

/**
 * Deletes accounts in one transaction. Once it has committed, all tokens and passwords of the user are refused, the workspaces
 * are not found, and the email address is free. Remaining work is stored in rows, so that it survives a crash: deleted workspaces
 * are purged, owed cancellations are sent.
 */
@Injectable()
export class AccountDeletion {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspaceDeletion,
    private readonly outbox: CancellationOutbox,
    private readonly clock: Clock,
    private readonly bus: EventBus,
    private readonly audit: AuditLog,
  ) {}

  /** @throws BadRequest unless `confirm` is the account's email address, Unauthorized when it has already been deleted */
  async delete(userId: string, confirm: string, by: Acting): Promise<void> {
    const { workspaces, tokenIds } = await this.database.sharedTransaction((tx) =>
      this.remove(tx, userId, confirm, by),
    );
    for (const key of tokenIds) this.bus.publish({ topic: TOKEN_REVOKED, key });
    this.outbox.settleSoon();
    this.workspaces.announceAll(workspaces);
  }

  /**
   * Locks workspaces before the user, the order used everywhere. Workspaces created before the user is locked are deleted as
   * well.
   */
  private async remove(tx: Tx, userId: string, confirm: string, by: Acting): Promise<Gone> {
    const now = this.clock.now();
    const users = tx.manager.getRepository(UserEntity);
    const user = await users.findOneBy({ id: userId });
    if (!user) throw new Unauthorized();
    if (confirm.trim().toLowerCase() !== user.email.toLowerCase())
      throw new BadRequest('confirm must be the email address of the account');

    const early = await this.workspaces.markAllOf(tx, userId, now);
    await lockOwnUser(tx, userId);
    const { email } = await users.findOneByOrFail({ id: userId }); // it may have changed before the lock
    const late = await this.workspaces.markAllOf(tx, userId, now);
    const ofUser = { userId, revokedAt: IsNull() }; // the sockets of revoked tokens are already closed
    const tokens = await tx.manager.getRepository(AccessToken).findBy(ofUser);
    await tx.run(accountStatements.oweCancellation, [userId, now]);
    await tx.manager.getRepository(Invitation).delete({ email: email.toLowerCase() });
    // Also deletes sessions, passwords, tokens, devices, subscription and quota, by their foreign keys.
    await users.delete({ id: userId });
    await this.audit.anonymize({ userId, email: user.email }, tx);
    await this.audit.record({ action: 'account.deleted', userId, ...by }, tx);
    return { workspaces: [...early, ...late], tokenIds: tokens.map(({ id }) => id) };
  }
}
