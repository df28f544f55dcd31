import type { IncomingHttpHeaders } from 'node:http';
import type { AuditActor } from './actions.js';

/** Who acts, and from where. */
export interface Acting {
  readonly actor: AuditActor;
  /** The administrator who acts; undefined for others. */
  readonly actorId?: string;
  readonly ip?: string;
  readonly userAgent?: string;
}

/** The operator, on the command line. */
export const BY_OPERATOR: Acting = { actor: 'operator' };

/** The user who sends a request. */
export function byUser({ ip, headers }: { ip: string; headers: IncomingHttpHeaders }): Acting {
  return { actor: 'user', ip, userAgent: headers['user-agent'] ?? '' };
}
