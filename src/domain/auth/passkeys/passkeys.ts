import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { isUUID } from 'class-validator';
import { Column, Entity, Not, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/index.js';
import { asName, BadRequest, NAME_RULE, NotFound } from '../../../platform/http/index.js';
import { lockOwnUser } from '../account-fields.js';
import { type AuditAction, AuditLog } from '../audit/index.js';
import { AuthAccount, AuthSession } from '../auth.entities.js';
import type { Actor } from '../factors/index.js';

/** A passkey of a user. The identity library writes it. */
@Entity('auth_passkeys')
export class Passkey {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid')
  userId: string;

  @Column('text', { nullable: true })
  name: string | null;

  @Column('text')
  credentialId: string;

  @Column('text')
  publicKey: string;

  @Column('bigint')
  counter: number;

  @Column('text')
  deviceType: string;

  /** Whether it is stored by a service that copies it to other devices. */
  @Column('boolean')
  backedUp: boolean;

  @Column('text', { nullable: true })
  transports: string | null;

  @Column('text', { nullable: true })
  aaguid: string | null;

  @Column('timestamptz')
  createdAt: Date;
}

/** Passkeys per user. */
export const MAX_PASSKEYS = 20;

export interface ListedPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  /** Whether it is stored by a service that copies it to other devices. */
  readonly isSynced: boolean;
}

/** The passkeys of a user. The identity library verifies them; this class lists, counts and removes them. */
@Injectable()
export class Passkeys {
  constructor(
    @InjectRepository(Passkey) private readonly passkeys: Repository<Passkey>,
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** Oldest first. */
  async list(userId: string): Promise<ListedPasskey[]> {
    const order = { createdAt: 'ASC', id: 'ASC' } as const;
    const found = await this.passkeys.find({ where: { userId }, order, take: MAX_PASSKEYS });
    return found.map(({ id, name, createdAt, backedUp }) => ({
      ...{ id, name: name ?? 'Passkey', createdAt },
      isSynced: backedUp,
    }));
  }

  /** @throws BadRequest for an invalid name, NotFound unless the id is a passkey of this user */
  async rename(userId: string, id: string, name: string): Promise<void> {
    const stored = asName(name);
    if (stored === undefined) throw new BadRequest(`name ${NAME_RULE}`);
    const renamed = isUUID(id) ? await this.passkeys.update({ userId, id }, { name: stored }) : undefined;
    if (!renamed?.affected) throw new NotFound('passkey not found');
  }

  /** Returns false, and keeps the passkey, when it is the last way to sign in. @throws NotFound */
  async remove(actor: Actor, id: string): Promise<boolean> {
    const { userId } = actor;
    return this.database.transaction(async (tx) => {
      await lockOwnUser(tx, userId);
      if (!isUUID(id)) throw new NotFound('passkey not found');
      if (!(await this.hasAnotherWay(tx, userId, id))) return false;
      const { affected } = await tx.manager.getRepository(Passkey).delete({ userId, id });
      if (affected !== 1) throw new NotFound('passkey not found');
      await this.record(actor, 'factor.removed', tx);
      return true;
    });
  }

  /** Whether the user may have one more. */
  async hasRoom(userId: string): Promise<boolean> {
    return (await this.passkeys.countBy({ userId })) < MAX_PASSKEYS;
  }

  /** Call this before the library stores a new passkey, so that none exists without a record. */
  async recordNew(actor: Actor): Promise<void> {
    await this.record(actor, 'factor.added');
  }

  /**
   * Call this after a new passkey is committed. Deletes it if a reset has ended the session that added it. Returns whether it was
   * kept.
   */
  async keepNew(userId: string, sessionId: string, credentialId: string): Promise<boolean> {
    if (await this.sessions.existsBy({ userId, id: sessionId })) return true;
    await this.passkeys.delete({ userId, credentialId });
    return false;
  }

  /** Call this after a session is committed. Ends it, and returns false, when its passkey was removed meanwhile. */
  async check({ id, userId }: { id: string; userId: string }, credentialId: string): Promise<boolean> {
    if (await this.passkeys.existsBy({ userId, credentialId })) return true;
    await this.sessions.delete({ id });
    return false;
  }

  /** Whether the user can sign in without this passkey: by a password, a provider or another passkey. */
  private async hasAnotherWay({ manager }: Tx, userId: string, id: string): Promise<boolean> {
    const hasAccount = await manager.getRepository(AuthAccount).existsBy({ userId });
    return hasAccount || (await manager.getRepository(Passkey).existsBy({ userId, id: Not(id) }));
  }

  private record({ userId, ip, userAgent }: Actor, action: AuditAction, tx?: Tx): Promise<void> {
    const details = { kind: 'passkey' };
    return this.audit.record({ action, userId, actor: 'user', ip, userAgent, details }, tx);
  }
}
