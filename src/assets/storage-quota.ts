import { Injectable } from '@nestjs/common';
import { Subscriptions } from '../billing/index.js';
import { Configuration } from '../config/index.js';
import { Database, statement, type Tx } from '../platform/database/index.js';
import type { Examination, Finding } from '../platform/doctor/index.js';
import { InsufficientStorage } from '../platform/http/index.js';

const storageStatements = {
  account: statement(
    'storage.account',
    `SELECT used_bytes AS "usedBytes", addon_bytes AS "addonBytes", locked FROM storage_accounts WHERE user_id = $1`,
  ),

  open: statement(
    'storage.open',
    `INSERT INTO storage_accounts (user_id) VALUES ($1) ON CONFLICT (user_id) DO NOTHING`,
  ),

  lock: statement(
    'storage.lock',
    `SELECT used_bytes AS "usedBytes", addon_bytes AS "addonBytes", locked
     FROM storage_accounts WHERE user_id = $1 FOR NO KEY UPDATE`,
  ),

  /** $3: the allowance of the plan. Returns no row when the bytes do not fit. */
  reserve: statement(
    'storage.reserve',
    `UPDATE storage_accounts SET used_bytes = used_bytes + $2
     WHERE user_id = $1 AND NOT locked AND used_bytes + $2 <= addon_bytes + $3
     RETURNING used_bytes`,
  ),

  /** Null leaves a column unchanged. */
  set: statement(
    'storage.set',
    `INSERT INTO storage_accounts AS a (user_id, addon_bytes, locked)
     VALUES ($1, coalesce($2::bigint, 0), coalesce($3::boolean, false))
     ON CONFLICT (user_id) DO UPDATE SET addon_bytes = coalesce($2, a.addon_bytes), locked = coalesce($3, a.locked)`,
  ),

  /** One statement, so both sums come from the same snapshot. */
  drift: statement(
    'storage.drift',
    `SELECT user_id AS "userId", coalesce(used_bytes, 0) AS "usedBytes", coalesce(bytes, 0)::bigint AS "actualBytes"
     FROM storage_accounts
     FULL JOIN (SELECT w.user_id, sum(a.size) AS bytes
                FROM assets a JOIN workspaces w ON w.id = a.workspace_id GROUP BY 1) owned USING (user_id)
     WHERE coalesce(used_bytes, 0) <> coalesce(bytes, 0)
     ORDER BY 1`,
  ),

  /** Run it under the account's lock, as a separate statement, so that its sum includes everything committed by then. */
  recount: statement(
    'storage.recount',
    `UPDATE storage_accounts
     SET used_bytes = (SELECT coalesce(sum(a.size), 0)
                       FROM workspaces w JOIN assets a ON a.workspace_id = w.id WHERE w.user_id = $1)
     WHERE user_id = $1`,
  ),
};

/** The stored state of an account, without its plan. */
interface Account {
  readonly usedBytes: number;
  readonly addonBytes: number;
  readonly locked: boolean;
}

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
  ) {}

  async usage(userId: string): Promise<StorageUsage> {
    const plan = await this.plan(userId);
    const [account = EMPTY] = await this.database.run<Account>(storageStatements.account, [userId]);
    return { ...account, plan, quotaBytes: this.bytesOf(plan) + account.addonBytes };
  }

  /**
   * The allowance of the plan, without the add-on. Call it before a transaction, because it uses a connection of its
   * own.
   */
  async allowance(userId: string): Promise<number> {
    return this.bytesOf(await this.plan(userId));
  }

  /** Counts an asset that is created in the same transaction. @throws InsufficientStorage when it does not fit */
  async reserve(tx: Tx, userId: string, bytes: number, allowance: number): Promise<void> {
    const values = [userId, bytes, allowance];
    if ((await tx.run(storageStatements.reserve, values)).length > 0) return;

    // The account may be new, or may have gained room since; under its lock, the decision and its figures are
    // consistent.
    await tx.run(storageStatements.open, [userId]);
    const [account = EMPTY] = await tx.run<Account>(storageStatements.lock, [userId]);
    if ((await tx.run(storageStatements.reserve, values)).length > 0) return;
    const { usedBytes, addonBytes, locked } = account;
    throw new InsufficientStorage(locked ? 'the storage is locked' : 'the storage quota is used up', {
      code: 'STORAGE_QUOTA_EXCEEDED',
      details: { usedBytes, quotaBytes: allowance + addonBytes, requestedBytes: bytes, locked },
    });
  }

  /** Sets the given fields and keeps the others; used by the admin command. */
  async set(userId: string, { addonBytes, locked }: Partial<Account>): Promise<StorageUsage> {
    await this.database.run(storageStatements.set, [userId, addonBytes ?? null, locked ?? null]);
    return this.usage(userId);
  }

  /** The accounts whose counter is wrong; there are none unless the tables were edited by hand. */
  drift(): Promise<StorageDrift[]> {
    return this.database.run<StorageDrift>(storageStatements.drift, []);
  }

  /** Recounts those accounts, concurrently with uploads and deletions. Returns what was wrong. */
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

/** Checks that each account's usage counter equals the sum of its assets. */
@Injectable()
export class QuotaCheck {
  constructor(private readonly quota: StorageQuota) {}

  /** With `fix`, recounts concurrently with uploads and deletions. */
  async *drift({ fix }: Examination): AsyncGenerator<Finding> {
    const wrong = fix ? await this.quota.repair() : await this.quota.drift();
    for (const { userId, usedBytes, actualBytes } of wrong) {
      yield {
        fault: 'quota drift',
        subject: `account ${userId}`,
        problem: `The usage counter is ${usedBytes} bytes; the assets take ${actualBytes} bytes.`,
        cure: 'Run `doctor --fix` to correct the counter.',
        isFixed: fix,
      };
    }
  }
}
