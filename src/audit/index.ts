export { AUDIT_ACTIONS, type AuditAction, type AuditActor } from './actions.js';
export {
  type AuditDetails,
  type AuditEntry,
  type AuditEvent,
  type AuditListener,
  AuditLog,
  type Runner,
} from './audit-log.js';
export { AuditModule } from './audit.module.js';
