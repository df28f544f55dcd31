export { type Acting, BY_OPERATOR, byUser } from './acting.js';
export { AUDIT_ACTIONS, type AuditAction, type AuditActor } from './actions.js';
export {
  type AuditDetails,
  type AuditEntry,
  type AuditEvent,
  type AuditListener,
  AuditLog,
  type ServiceAuditEntry,
  type Runner,
} from './audit-log.js';
export { AuditedKillSwitch } from './audited-kill-switch.js';
export { AuditModule } from './audit.module.js';
