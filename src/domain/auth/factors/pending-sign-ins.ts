import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Like, Repository } from 'typeorm';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/index.js';
import { Unauthorized } from '../../../platform/http/index.js';
import { AuthAccount, AuthVerification, hasPassword, linkOf, passwordHashOf } from '../auth.entities.js';
import { identityRequests } from '../identity-request.js';
import { lockUser } from '../account-fields.js';

/** Matches the identifiers of pending sign-ins. */
export const PENDING_SIGN_IN = /^2fa-(?!attempts-)/;
/** Begins the identifiers of sign-ins through the single sign-on provider; the library's have no second dash. */
export const PROVIDER_SIGN_IN = '2fa-provider-';
export const WAITS_MS = 10 * 60_000;

/**
 * Sign-ins that wait for the second factor, after a right password or a confirmation by the provider: rows of
 * `auth_verifications`. None outlives the password that it began with: a change or reset of the password ends existing ones, and
 * `check` ends one that is created at that moment.
 */
@Injectable()
export class PendingSignIns {
  constructor(
    @InjectRepository(AuthAccount) private readonly accounts: Repository<AuthAccount>,
    @InjectRepository(AuthVerification) private readonly verifications: Repository<AuthVerification>,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** When a row that is created now expires, by the service's clock; undefined for other rows. */
  expiryOf({ identifier }: { identifier: string }): Date | undefined {
    return PENDING_SIGN_IN.test(identifier) ? new Date(this.clock.now().getTime() + WAITS_MS) : undefined;
  }

  isAlive({ expiresAt }: { expiresAt: Date }): boolean {
    return expiresAt > this.clock.now();
  }

  /** Whether the account is still linked to a single sign-on provider. */
  isLinked(userId: string): Promise<boolean> {
    return this.accounts.existsBy(linkOf(userId));
  }

  /** Ends a pending sign-in whose password has been changed. Call this after its row is committed. @throws Unauthorized */
  async check({ identifier, value: userId }: { identifier: string; value: string }): Promise<void> {
    if (!PENDING_SIGN_IN.test(identifier) || identifier.startsWith(PROVIDER_SIGN_IN)) return;
    const hashes = [...(identityRequests.getStore()?.hashes ?? [])];
    const isCurrent = await this.database.transaction(async (tx) => {
      if (!(await lockUser(tx, userId))) return false; // waits for a change of the password
      return hasPassword(tx.manager.getRepository(AuthAccount), userId, hashes);
    });
    if (isCurrent) return;
    await this.verifications.delete({ identifier });
    // Not one of the library's errors: it would send those with status 200 after the action itself.
    throw new Unauthorized('Invalid email or password');
  }

  /** The hash of the user's current password; undefined without one. */
  passwordOf(userId: string): Promise<string | undefined> {
    return passwordHashOf(this.accounts, userId);
  }
}

/** Ends all pending sign-ins of a user, whose id is the value of their rows. */
export async function endPendingSignIns(
  verifications: Repository<AuthVerification>,
  userId: string,
): Promise<void> {
  await verifications.delete({ identifier: Like('2fa-%'), value: userId });
}
