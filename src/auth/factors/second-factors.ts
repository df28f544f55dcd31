import { Injectable } from '@nestjs/common';
import { type AuditAction, AuditLog } from '../../audit/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { lockOwnUser } from '../lock-user.js';
import { factorStatements } from './factor.queries.js';
import { type FactorVault, newBackupCodes } from './factor-vault.js';
import { newTotpSecret, stepOfCode } from './totp.js';

/**
 * Time to finish a set-up. It began with a recent sign-in; finishing it asks for none, so a session that was stolen must not be
 * able to do so later.
 */
const SET_UP_MS = 15 * 60_000;

interface Stored {
  readonly secret: string;
  readonly isOn: boolean;
  readonly begunAt: Date;
}

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
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
  ) {}

  /** How many backup codes are left, or null when the account has no second factor. */
  async codesLeft(userId: string): Promise<number | null> {
    const [state] = await this.database.run<{ codesLeft: number }>(factorStatements.state, [userId]);
    return state?.codesLeft ?? null;
  }

  /** Begins a set-up: returns a new secret, in base32, which replaces one not confirmed yet. Null when a factor is on. */
  async begin(userId: string, vault: FactorVault): Promise<string | null> {
    const secret = newTotpSecret();
    const values = [userId, await vault.encrypt(secret), this.clock.now()];
    return (await this.database.run(factorStatements.begin, values)).length > 0 ? secret : null;
  }

  /** Whether a set-up waits for its first code. */
  async isPending(userId: string): Promise<boolean> {
    return this.waits(await this.stored(userId));
  }

  /** Turns the factor on with its first code. Returns the backup codes, or null when the code is wrong. */
  async finish(actor: Actor, code: string, vault: FactorVault): Promise<string[] | null> {
    const { userId } = actor;
    const stored = await this.stored(userId);
    if (!this.waits(stored)) return null;
    const now = this.clock.now();
    const secret = await vault.decrypt(stored.secret);
    const step = secret === null ? undefined : stepOfCode(secret, code, now);
    if (step === undefined) return null;
    const codes = newBackupCodes();
    const hashes = codes.map((one) => vault.hash(userId, one));
    const values = [userId, stored.secret, step, hashes, now];
    const isDone = await this.change(actor, 'factor.added', (tx) => tx.run(factorStatements.finish, values));
    return isDone ? codes : null;
  }

  /** Uses a code up. Returns whether it was right; a code that was used before is wrong. */
  async use(userId: string, { kind, code }: EnteredCode, vault: FactorVault): Promise<boolean> {
    if (kind === 'backup') {
      const values = [userId, vault.hash(userId, code)];
      return (await this.database.run(factorStatements.useBackupCode, values)).length > 0;
    }
    const stored = await this.stored(userId);
    if (!stored?.isOn) return false;
    const secret = await vault.decrypt(stored.secret);
    const step = secret === null ? undefined : stepOfCode(secret, code, this.clock.now());
    if (step === undefined) return false;
    const values = [userId, stored.secret, step];
    return (await this.database.run(factorStatements.useStep, values)).length > 0;
  }

  /** Replaces all backup codes. Null without a factor. */
  async renewCodes(actor: Actor, vault: FactorVault): Promise<string[] | null> {
    const codes = newBackupCodes();
    const values = [actor.userId, codes.map((code) => vault.hash(actor.userId, code))];
    const isDone = await this.change(actor, 'factor.codes-renewed', (tx) =>
      tx.run(factorStatements.renewCodes, values),
    );
    return isDone ? codes : null;
  }

  /** Turns the factor off, or ends its set-up. Returns whether it was on. */
  remove(actor: Actor): Promise<boolean> {
    const values = [actor.userId, this.clock.now()];
    return this.change(actor, 'factor.removed', (tx) => tx.run(factorStatements.remove, values));
  }

  /** Runs a change and records it, unless its statement returns no row. */
  private change(
    { userId, ip, userAgent }: Actor,
    action: AuditAction,
    statement: (tx: Tx) => Promise<unknown[]>,
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      await lockOwnUser(tx, userId);
      if ((await statement(tx)).length === 0) return false;
      await this.audit.record(
        { action, userId, actor: 'user', ip, userAgent, details: { kind: 'totp' } },
        tx,
      );
      return true;
    });
  }

  private waits(stored: Stored | undefined): stored is Stored {
    if (!stored || stored.isOn) return false;
    return stored.begunAt.getTime() > this.clock.now().getTime() - SET_UP_MS;
  }

  private async stored(userId: string): Promise<Stored | undefined> {
    return (await this.database.run<Stored>(factorStatements.secret, [userId]))[0];
  }
}
