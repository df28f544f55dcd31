import { Global, Injectable, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { KillSwitch, type Mode } from '../../../platform/kill-switch.js';
import { type Acting, AuditEventEntity, AuditLog } from './audit-log.js';

export {
  type Acting,
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditDetails,
  type AuditEntry,
  type AuditEvent,
  AuditEventEntity,
  AuditLog,
  BY_OPERATOR,
  byUser,
  type Runner,
} from './audit-log.js';

/** The kill switch for operators and administrators: each change is recorded in the audit log, in the same transaction. */
@Injectable()
export class AuditedKillSwitch {
  constructor(
    private readonly killSwitch: KillSwitch,
    private readonly audit: AuditLog,
  ) {}

  get mode(): Mode {
    return this.killSwitch.mode;
  }

  /** Every instance follows within five seconds. */
  async set(mode: Mode, by: Acting): Promise<void> {
    const entry = { action: 'kill-switch.set', ...by, details: { mode } } as const;
    await this.killSwitch.set(mode, (tx) => this.audit.recordOfService(entry, tx));
  }
}

@Global()
@Module({
  imports: [TypeOrmModule.forFeature([AuditEventEntity])],
  providers: [AuditedKillSwitch, AuditLog],
  exports: [AuditedKillSwitch, AuditLog],
})
export class AuditModule {}
