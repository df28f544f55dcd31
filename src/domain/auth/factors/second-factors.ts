import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type SecretConfig, symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { Column, Entity, LessThan, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { Clock } from '../../../platform/clock.js';
import { Database, type Tx } from '../../../platform/database/index.js';
import { lockOwnUser } from '../account-fields.js';
import { type AuditAction, AuditLog } from '../audit/index.js';
import { UserEntity } from '../auth.entities.js';
import { factorStatements } from '../auth.queries.js';
import type { Client } from '../identity-request.js';

const BACKUP_CODES = 10;
const CODE_LENGTH = 10;

/** Without letters and digits that are easily misread. */
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz';

/** Ten new backup codes, each `xxxxx-xxxxx`, 49 random bits. */
export function newBackupCodes(): string[] {
  return Array.from({ length: BACKUP_CODES }, () => {
    const code = Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    return `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`;
  });
}

/** `AUTH_SECRET` in the forms that the identity handler keeps. */
export interface FactorKeys {
  readonly secret: string;
  readonly secretConfig: string | SecretConfig;
}

/** Protects second factors with `AUTH_SECRET`, so that the database alone opens no account. */
export class FactorVault {
  constructor(private readonly keys: FactorKeys) {}

  encrypt(totpSecret: string): Promise<string> {
    return symmetricEncrypt({ key: this.keys.secretConfig, data: totpSecret });
  }

  /** Null when `AUTH_SECRET` has changed: then no code is right, and the operator has to reset the factor. */
  decrypt(stored: string): Promise<string | null> {
    return symmetricDecrypt({ key: this.keys.secretConfig, data: stored }).catch(() => null);
  }

  /** The stored form of a backup code. Case, spaces and dashes of the entered code do not matter. */
  hash(userId: string, backupCode: string): string {
    const plain = backupCode.toLowerCase().replace(/[\s-]/g, '');
    return createHmac('sha256', this.keys.secret).update(`backup-code:${userId}:${plain}`).digest('hex');
  }
}

/** The TOTP secret and the backup codes of a user. */
@Entity('auth_two_factors')
export class SecondFactor {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  /** Encrypted. */
  @Column('text')
  secret: string;

  /** The hashes of the unused codes. */
  @Column('text', { array: true })
  backupCodes: string[];

  /** Whether the factor is on: its first code was right. */
  @Column('boolean')
  verified: boolean;

  /** The time step of the code that was used last. */
  @Column('bigint', { nullable: true })
  lastStep: number | null;

  /** Not used: wrong codes are counted in `wrong_passwords`. */
  @Column('integer', { default: 0 })
  failedVerificationCount: number;

  /** Not used. */
  @Column('timestamptz', { nullable: true })
  lockedUntil: Date | null;

  /** When its set-up began. */
  @Column('timestamptz')
  createdAt: Date;
}

/** RFC 6238 with the parameters that every authenticator app supports: SHA-1, six digits, 30 seconds. */
const DIGITS = 6;
const STEP_MS = 30_000;
const SECRET_BYTES = 20;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** How many steps the clock of an authenticator may be off, in both directions. */
const TOLERANCE = 1;

/** A new secret, in base32 as authenticator apps take it. */
export function newTotpSecret(): string {
  const bits = [...randomBytes(SECRET_BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[parseInt(five, 2)]).join('');
}

/** The `otpauth:` address of a secret, which an authenticator app reads from a QR code. */
export function totpUri(secret: string, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  const parameters = new URLSearchParams({ secret, issuer, algorithm: 'SHA1', digits: '6', period: '30' });
  return `otpauth://totp/${label}?${parameters.toString().replaceAll('+', '%20')}`;
}

/** The time step of a code, if it is the current one or a neighbour; undefined otherwise. Ignores spaces. */
export function stepOfCode(secret: string, code: string, now: Date): number | undefined {
  const given = Buffer.from(code.replace(/\s/g, ''));
  const current = Math.floor(now.getTime() / STEP_MS);
  const steps = Array.from({ length: 2 * TOLERANCE + 1 }, (_, at) => current - TOLERANCE + at);
  return steps.filter((step) => isEqual(given, codeOf(secret, step))).at(-1);
}

function isEqual(given: Buffer, code: string): boolean {
  return given.length === DIGITS && timingSafeEqual(given, Buffer.from(code));
}

/** RFC 4226 §5.3. */
function codeOf(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const offset = digest.readUInt8(digest.length - 1) & 0xf;
  const number = digest.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

function bytesOf(base32: string): Buffer {
  const bits = Array.from(base32, (digit) => BASE32.indexOf(digit).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
}

/**
 * Time to finish a set-up. Only its beginning needs a recent sign-in: a session stolen afterwards must not be able to finish it.
 */
const SET_UP_MS = 15 * 60_000;

export interface EnteredCode {
  readonly kind: 'totp' | 'backup';
  readonly code: string;
}

/** The user who changes a factor, and from where. */
export interface Actor extends Client {
  readonly userId: string;
}

/**
 * The second factor of an account: a TOTP secret and ten backup codes. No code works twice, even in concurrent requests on
 * several instances. Callers authenticate the user and limit wrong codes.
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
      // A set-up that was restarted meanwhile has another secret, which this code does not confirm.
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

  /** Uses up a code. Returns whether it was right; a code that was used before is wrong. */
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
      // Each step works once, and no earlier step after it: RFC 6238 §5.2.
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

  /** Makes a change and records it in the audit log, unless `make` returns false. */
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
