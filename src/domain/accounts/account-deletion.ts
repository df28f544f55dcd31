import { Controller, Delete, Injectable, Req } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsString } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { Column, Entity, IsNull, MoreThan, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { CurrentPrincipal, Interactive, type Principal } from '../../access/index.js';
import { Documented, json, OK } from '../../platform/api-docs/index.js';
import { CoalescingRunner } from '../../platform/async.js';
import { Clock } from '../../platform/clock.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { BadRequest, JsonBody, Unauthorized } from '../../platform/http/index.js';
import { Log, requestScope } from '../../platform/log.js';
import { type Acting, AuditLog, byUser } from '../auth/audit/index.js';
import {
  AccessToken,
  Invitation,
  lockOwnUser,
  RecentSignIn,
  TOKEN_REVOKED,
  UserEntity,
} from '../auth/index.js';
import { PaymentProvider, ProviderRefusal } from '../billing/index.js';
import { type DeletedWorkspace, WorkspaceDeletion } from '../workspaces/index.js';
import { accountStatements } from './accounts.queries.js';

/** A cancellation that the payment provider has not yet received, for a deleted account. At least one id is set. */
@Entity('owed_cancellations')
export class OwedCancellation {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS', type: 'bigint' })
  id: number;

  @Column('text', { nullable: true })
  customerId: string | null;

  @Column('text', { nullable: true })
  subscriptionId: string | null;

  @Column('timestamptz')
  since: Date;
}

const BATCH = 100;

/** After this many consecutive outages of the provider, the remaining requests would fail too. */
const GIVE_UP_AFTER = 5;

/**
 * Subscriptions of deleted accounts that must still be cancelled at the payment provider. Deleting an account does not wait for
 * it: failures are retried every night until the provider has confirmed.
 */
@Injectable()
export class CancellationOutbox {
  private readonly passes = new CoalescingRunner(async () => {
    await requestScope.exit(() => this.log.bestEffort('cancel at the payment provider', () => this.settle()));
  });
  private lastPass: Promise<void> | undefined;

  constructor(
    @InjectRepository(OwedCancellation) private readonly owed: Repository<OwedCancellation>,
    private readonly provider: PaymentProvider,
    private readonly log: Log,
  ) {}

  /**
   * Starts a pass without waiting for it. Runs one pass at a time, so that many accounts deleted at once do not cause duplicate
   * requests.
   */
  settleSoon(): void {
    this.lastPass = this.passes.run();
  }

  /** Resolves when the pass that `settleSoon` started has ended. */
  async settled(): Promise<void> {
    await this.lastPass;
  }

  /** Processes all owed cancellations; without a provider they stay. Concurrent calls are harmless. */
  async settle(signal?: AbortSignal): Promise<{ cancelled: number; failed: number }> {
    const counts = { cancelled: 0, failed: 0 };
    if (!this.provider.isConfigured) return counts;
    let outages = 0;
    for await (const owed of this.all()) {
      if (signal?.aborted || outages === GIVE_UP_AFTER) break;
      const refusal = await this.settleOne(owed);
      if (refusal) counts.failed++;
      else counts.cancelled++;
      outages = refusal?.isOutage ? outages + 1 : 0;
    }
    return counts;
  }

  private async settleOne(owed: OwedCancellation): Promise<ProviderRefusal | undefined> {
    try {
      await this.provider.cancelAndDeleteCustomer(owed);
    } catch (err) {
      if (!(err instanceof ProviderRefusal)) throw err;
      this.log.warn({ err }, 'could not cancel at the payment provider; it is retried every night');
      return err;
    }
    await this.owed.delete({ id: owed.id });
    return undefined;
  }

  private async *all(): AsyncGenerator<OwedCancellation, void> {
    for (let above: number | undefined = 0; above !== undefined;) {
      const page: OwedCancellation[] = await this.owed.find({
        where: { id: MoreThan(above) },
        order: { id: 'ASC' },
        take: BATCH,
      });
      yield* page;
      above = page.at(-1)?.id;
    }
  }
}

/** The ids to announce after an account is deleted. */
interface Gone {
  readonly workspaces: DeletedWorkspace[];
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
    this.workspaces.announce(workspaces);
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

class DeleteAccountRequest {
  /** The account's own email address, against accidental deletion. */
  @IsString({ message: 'confirm must be the email address of the account' })
  confirm: string;
}

const ACCOUNT_DOCS = {
  tag: 'Account',
  operations: {
    delete: {
      id: 'auth.deleteMe',
      summary: 'Delete the account and all its data',
      description: 'Deletes its workspaces, files, assets, devices and tokens too. This cannot be undone.',
      answers: {
        200: json('the account is deleted', OK),
        403: 'the user last signed in more than ten minutes ago, or the token is not a JWT of a session',
      },
    },
  },
} as const;

/** Extension of the contract: users can delete their account with all their data. */
@Controller('api/v1/auth/me')
@Documented(ACCOUNT_DOCS)
@Interactive()
export class AccountController {
  constructor(
    private readonly accountDeletion: AccountDeletion,
    private readonly recentSignIn: RecentSignIn,
  ) {}

  @Delete()
  async delete(
    @CurrentPrincipal() principal: Principal,
    @JsonBody() { confirm }: DeleteAccountRequest,
    @Req() request: FastifyRequest,
  ): Promise<{ ok: true }> {
    this.recentSignIn.require(principal);
    await this.accountDeletion.delete(principal.userId, confirm, byUser(request));
    return { ok: true };
  }
}
