import { Global, Module } from '@nestjs/common';
import { AuditedKillSwitch } from './audited-kill-switch.js';
import { AuditLog } from './audit-log.js';

@Global()
@Module({ providers: [AuditedKillSwitch, AuditLog], exports: [AuditedKillSwitch, AuditLog] })
export class AuditModule {}
