import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, Repository } from 'typeorm';
import { type AuditAction, AuditLog } from '../audit/index.js';
import { Clock } from '../../../platform/clock/index.js';
import { Database, type Tx } from '../../../platform/database/index.js';
import { factorStatements } from '../auth.queries.js';
import { lockOwnUser } from '../lock-user.js';
import { UserEntity } from '../user.entity.js';
import { type FactorVault, newBackupCodes } from './factor-vault.js';
import { SecondFactor } from './second-factor.entity.js';
import { newTotpSecret, stepOfCode } from './totp.js';

/**
 * Time to finish a set-up. It began with a recent sign-in; finishing it asks for none, so a session that was stolen must not be
 * able to do so later.
 */
const SET_UP_MS = 15 * 60_000;

/** A code that a person has entered. */
export interface EnteredCode {
  readonly kind: 'totp' | 'backup';
  readonly code: string;
}

/** The user who changes a factor, and from where. */
export interface Actor {
  readonly userId: string;
  readonly ip: string;
  readonly userAgent: string;
}

/**
 * The second factor of an account: a TOTP secret and ten backup codes. No code works twice, whatever the number of requests and
 * instances. Whoever calls this has checked who the caller is and limits wrong codes.
 */
@Injectable()
export class SecondFactors {
  constructor(
    @InjectRepository(SecondFactor) private readonly factors: Repository<SecondFactor>,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
  ) {}

  /** How many backup codes are left, or null when the account has no second factor. */
  async codesLeft(userId: string): Promise<number | null> {
    const factor = await this.factors.findOneBy({ userId, verified: true });
    return factor?.backupCodes.length ?? null;
  }

  /** Begins a set-up: returns a new secret, in base32, which replaces one not confirmed yet. Null when a factor is on. */
  async begin(userId: string, vault: FactorVault): Promise<string | null> {
    const secret = newTotpSecret();
    const values = [userId, await vault.encrypt(secret), this.clock.now()];
    return (await this.database.run(factorStatements.begin, values)).length > 0 ? secret : null;
  }

  /** Whether a set-up waits for its first code. */
  async isPending(userId: string): Promise<boolean> {
    return this.waits(await this.factors.findOneBy({ userId }));
  }

  /** Turns the factor on with its first code. Returns the backup codes, or null when the code is wrong. */
  async finish(actor: Actor, code: string, vault: FactorVault): Promise<string[] | null> {
    const { userId } = actor;
    const stored = await this.factors.findOneBy({ userId });
    if (!this.waits(stored)) return null;
    const now = this.clock.now();
    const secret = await vault.decrypt(stored.secret);
    const step = secret === null ? undefined : stepOfCode(secret, code, now);
    if (step === undefined) return null;
    const codes = newBackupCodes();
    const backupCodes = codes.map((one) => vault.hash(userId, one));
    const isDone = await this.change(actor, 'factor.added', async ({ manager }) => {
      // A set-up that began again meanwhile has another secret: it is not the one that was confirmed.
      const confirmed = { userId, secret: stored.secret, verified: false };
      const on = { verified: true, lastStep: step, backupCodes };
      const { affected } = await manager.getRepository(SecondFactor).update(confirmed, on);
      if (affected !== 1) return false;
      await manager
        .getRepository(UserEntity)
        .update({ id: userId }, { twoFactorEnabled: true, updatedAt: now });
      return true;
    });
    return isDone ? codes : null;
  }

  /** Uses a code up. Returns whether it was right; a code that was used before is wrong. */
  async use(userId: string, { kind, code }: EnteredCode, vault: FactorVault): Promise<boolean> {
    if (kind === 'backup') {
      const values = [userId, vault.hash(userId, code)];
      return (await this.database.run(factorStatements.useBackupCode, values)).length > 0;
    }
    const stored = await this.factors.findOneBy({ userId });
    if (!stored?.verified) return false;
    const secret = await vault.decrypt(stored.secret);
    const step = secret === null ? undefined : stepOfCode(secret, code, this.clock.now());
    if (step === undefined) return false;
    const { affected } = await this.factors.update(
      // Each step is used once, and none before it afterwards: RFC 6238 §5.2.
      { userId, secret: stored.secret, verified: true, lastStep: LessThan(step) },
      { lastStep: step },
    );
    return affected === 1;
  }

  /** Replaces all backup codes. Null without a factor. */
  async renewCodes(actor: Actor, vault: FactorVault): Promise<string[] | null> {
    const codes = newBackupCodes();
    const backupCodes = codes.map((code) => vault.hash(actor.userId, code));
    const isDone = await this.change(actor, 'factor.codes-renewed', async ({ manager }) => {
      const on = { userId: actor.userId, verified: true };
      return (await manager.getRepository(SecondFactor).update(on, { backupCodes })).affected === 1;
    });
    return isDone ? codes : null;
  }

  /** Turns the factor off, or ends its set-up. Returns whether it was on. */
  remove(actor: Actor): Promise<boolean> {
    const values = [actor.userId, this.clock.now()];
    return this.change(
      actor,
      'factor.removed',
      async (tx) => (await tx.run(factorStatements.remove, values)).length > 0,
    );
  }

  /** Makes a change and records it, unless it returns false. */
  private change(
    { userId, ip, userAgent }: Actor,
    action: AuditAction,
    make: (tx: Tx) => Promise<boolean>,
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      await lockOwnUser(tx, userId);
      if (!(await make(tx))) return false;
      await this.audit.record(
        { action, userId, actor: 'user', ip, userAgent, details: { kind: 'totp' } },
        tx,
      );
      return true;
    });
  }

  private waits(stored: SecondFactor | null): stored is SecondFactor {
    if (!stored || stored.verified) return false;
    return stored.createdAt.getTime() > this.clock.now().getTime() - SET_UP_MS;
  }
}
