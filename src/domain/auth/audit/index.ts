export { type Acting, BY_OPERATOR, byUser } from './acting.js';
export { AUDIT_ACTIONS, type AuditAction, type AuditActor, type AuditDetails } from './actions.js';
export { type AuditEvent, AuditEventEntity } from './audit-event.entity.js';
export {
  type AuditEntry,
  type AuditListener,
  AuditLog,
  type ServiceAuditEntry,
  type Runner,
} from './audit-log.js';
export { AuditedKillSwitch } from './audited-kill-switch.js';
export { AuditModule } from './audit.module.js';
