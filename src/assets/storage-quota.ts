import { Injectable } from '@nestjs/common';
import { Subscriptions } from '../billing/index.js';
import { Configuration } from '../config/index.js';
import { Database, type Tx } from '../platform/database/index.js';
import { InsufficientStorage } from '../platform/http/index.js';
import { storageStatements } from './storage-quota.queries.js';

/** What an account holds, beside what its plan gives. */
interface Account {
  readonly usedBytes: number;
  readonly addonBytes: number;
  readonly locked: boolean;
}

export interface StorageUsage extends Account {
  /** What the plan gives, and the add-on. */
  readonly quotaBytes: number;
  readonly plan: StoragePlan;
}

export type StoragePlan = 'free' | 'pro';

/** An account whose count is not the sum of its assets. */
export interface StorageDrift {
  readonly userId: string;
  readonly usedBytes: number;
  readonly actualBytes: number;
}

const EMPTY: Account = { usedBytes: 0, addonBytes: 0, locked: false };

/** What the assets of an account's workspaces may take up together; the count moves with their rows, in one commit. */
@Injectable()
export class StorageQuota {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly subscriptions: Subscriptions,
  ) {}

  async usage(userId: string): Promise<StorageUsage> {
    const plan = await this.plan(userId);
    const [account = EMPTY] = await this.database.run<Account>(storageStatements.account, [userId]);
    return { ...account, plan, quotaBytes: this.bytesOf(plan) + account.addonBytes };
  }

  /** What the plan gives, without the add-on; to be asked before a transaction, as it takes a connection of its own. */
  async allowance(userId: string): Promise<number> {
    return this.bytesOf(await this.plan(userId));
  }

  /** Counts an asset that is created in the same transaction. @throws InsufficientStorage when it does not fit */
  async reserve(tx: Tx, userId: string, bytes: number, allowance: number): Promise<void> {
    const values = [userId, bytes, allowance];
    if ((await tx.run(storageStatements.reserve, values)).length > 0) return;

    // The account may be new, or may have got room since; under its lock the answer and its figures are of one moment.
    await tx.run(storageStatements.open, [userId]);
    const [account = EMPTY] = await tx.run<Account>(storageStatements.lock, [userId]);
    if ((await tx.run(storageStatements.reserve, values)).length > 0) return;
    const { usedBytes, addonBytes, locked } = account;
    throw new InsufficientStorage(locked ? 'the storage is locked' : 'the storage quota is used up', {
      code: 'STORAGE_QUOTA_EXCEEDED',
      details: { usedBytes, quotaBytes: allowance + addonBytes, requestedBytes: bytes, locked },
    });
  }

  /** Sets by hand what is given, and leaves the rest; for the admin command. */
  async set(userId: string, { addonBytes, locked }: Partial<Account>): Promise<StorageUsage> {
    await this.database.run(storageStatements.set, [userId, addonBytes ?? null, locked ?? null]);
    return this.usage(userId);
  }

  /** The accounts whose count is wrong; there are none, unless somebody has changed the tables by hand. */
  drift(): Promise<StorageDrift[]> {
    return this.database.run<StorageDrift>(storageStatements.drift, []);
  }

  /** Counts those anew; uploads and deletions may go on meanwhile. Returns what was wrong. */
  async repair(): Promise<StorageDrift[]> {
    const wrong = await this.drift();
    for (const { userId } of wrong) {
      await this.database.transaction(async (tx) => {
        await tx.run(storageStatements.open, [userId]);
        await tx.run(storageStatements.lock, [userId]);
        await tx.run(storageStatements.recount, [userId]);
      });
    }
    return wrong;
  }

  private async plan(userId: string): Promise<StoragePlan> {
    return (await this.subscriptions.isActive(userId)) ? 'pro' : 'free';
  }

  private bytesOf(plan: StoragePlan): number {
    const { assetQuotaFreeBytes, assetQuotaProBytes } = this.configuration;
    return plan === 'pro' ? assetQuotaProBytes : assetQuotaFreeBytes;
  }
}
