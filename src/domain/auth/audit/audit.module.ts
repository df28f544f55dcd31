import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditedKillSwitch } from './audited-kill-switch.js';
import { AuditEventEntity } from './audit-event.entity.js';
import { AuditLog } from './audit-log.js';

@Global()
@Module({
  imports: [TypeOrmModule.forFeature([AuditEventEntity])],
  providers: [AuditedKillSwitch, AuditLog],
  exports: [AuditedKillSwitch, AuditLog],
})
export class AuditModule {}
