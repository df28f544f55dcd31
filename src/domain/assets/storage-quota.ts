import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, type Repository } from 'typeorm';
import { Configuration } from '../../platform/config/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import type { Examination, Finding } from '../../platform/doctor.js';
import { InsufficientStorage } from '../../platform/http/index.js';
import { Subscriptions } from '../billing/index.js';
import { quotaStatements } from './assets.queries.js';

/** The storage that the assets of an account use. An account without a row uses none. */
@Entity('storage_accounts')
export class StorageAccount {
  @PrimaryColumn('uuid')
  userId: string;

  @Column('bigint', { default: 0 })
  usedBytes: number;

  /** Beyond the allowance of the plan. */
  @Column('bigint', { default: 0 })
  addonBytes: number;

  /** Whether uploads are refused. */
  @Column('boolean', { default: false })
  locked: boolean;
}

/** The stored state of an account, without its plan. */
type Account = Readonly<Pick<StorageAccount, 'usedBytes' | 'addonBytes' | 'locked'>>;

export interface StorageUsage extends Account {
  /** The allowance of the plan plus the add-on. */
  readonly quotaBytes: number;
  readonly plan: StoragePlan;
}

export type StoragePlan = 'free' | 'pro';

/** An account whose usage counter differs from the sum of its assets. */
interface StorageDrift {
  readonly userId: string;
  readonly usedBytes: number;
  readonly actualBytes: number;
}

const EMPTY: Account = { usedBytes: 0, addonBytes: 0, locked: false };

/** The quota for the assets of all workspaces of an account; the counter changes in the same commit as the asset rows. */
@Injectable()
export class StorageQuota {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly subscriptions: Subscriptions,
    @InjectRepository(StorageAccount) private readonly accounts: Repository<StorageAccount>,
  ) {}

  async usage(userId: string): Promise<StorageUsage> {
    const plan = await this.plan(userId);
    const { usedBytes, addonBytes, locked } = (await this.accounts.findOneBy({ userId })) ?? EMPTY;
    return { usedBytes, quotaBytes: this.bytesOf(plan) + addonBytes, plan, addonBytes, locked };
  }

  /** The allowance of the plan, without the add-on. Call it before a transaction, because it uses a connection of its own. */
  async allowance(userId: string): Promise<number> {
    return this.bytesOf(await this.plan(userId));
  }

  /** Counts an asset that is created in the same transaction. @throws InsufficientStorage when it does not fit */
  async reserve(tx: Tx, userId: string, bytes: number, allowance: number): Promise<void> {
    const values = [userId, bytes, allowance];
    if ((await tx.run(quotaStatements.reserve, values)).length > 0) return;

    // The account may be new, or may have gained room since; under its lock, the decision and its figures are
    // consistent.
    const { usedBytes, addonBytes, locked } = await lockAccount(tx, userId);
    if ((await tx.run(quotaStatements.reserve, values)).length > 0) return;
    throw new InsufficientStorage(locked ? 'the storage is locked' : 'the storage quota is used up', {
      code: 'STORAGE_QUOTA_EXCEEDED',
      details: { usedBytes, quotaBytes: allowance + addonBytes, requestedBytes: bytes, locked },
    });
  }

  /** Sets the given fields and keeps the others; used by the admin command. */
  async set(userId: string, { addonBytes, locked }: Partial<Account>): Promise<StorageUsage> {
    await this.accounts.upsert({ userId, addonBytes, locked }, ['userId']);
    return this.usage(userId);
  }

  /** The accounts whose counter is wrong; there are none unless the tables were edited by hand. */
  drift(): Promise<StorageDrift[]> {
    return this.database.run<StorageDrift>(quotaStatements.drift, []);
  }

  /** Recounts those accounts, concurrently with uploads and deletions. Returns what was wrong. */
  async repair(): Promise<StorageDrift[]> {
    const wrong = await this.drift();
    for (const { userId } of wrong) {
      await this.database.transaction(async (tx) => {
        await lockAccount(tx, userId);
        await tx.run(quotaStatements.recount, [userId]);
      });
    }
    return wrong;
  }

  /** Checks that each account's usage counter equals the sum of its assets. With `fix`, corrects it. */
  async *examine({ fix }: Examination): AsyncGenerator<Finding> {
    for (const { userId, usedBytes, actualBytes } of fix ? await this.repair() : await this.drift())
      yield {
        fault: 'quota drift',
        subject: `account ${userId}`,
        problem: `The usage counter is ${usedBytes} bytes; the assets take ${actualBytes} bytes.`,
        cure: 'Run `doctor --fix` to correct the counter.',
        isFixed: fix,
      };
  }

  private async plan(userId: string): Promise<StoragePlan> {
    return (await this.subscriptions.isActive(userId)) ? 'pro' : 'free';
  }

  private bytesOf(plan: StoragePlan): number {
    const { assetQuotaFreeBytes, assetQuotaProBytes } = this.configuration;
    return plan === 'pro' ? assetQuotaProBytes : assetQuotaFreeBytes;
  }
}

/** Releases the bytes of assets removed in this transaction. Call it after that: the workspace is locked before the account. */
export async function release(tx: Tx, userId: string, bytes: number): Promise<void> {
  await tx.manager.getRepository(StorageAccount).decrement({ userId }, 'usedBytes', bytes);
}

/** Locks an account's row; creates it if necessary. */
async function lockAccount(tx: Tx, userId: string): Promise<Account> {
  const accounts = tx.manager.getRepository(StorageAccount);
  await accounts.createQueryBuilder().insert().values({ userId }).orIgnore().execute();
  return (await accounts.findOne({ where: { userId }, lock: { mode: 'for_no_key_update' } })) ?? EMPTY;
}
