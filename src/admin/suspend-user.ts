import { Suspensions, type UserEntity } from '../auth/index.js';
import { accountOf } from './account-of.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** Suspends an account, on every instance within five seconds; one that is suspended stays so. @throws NotFound */
export function suspendUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const changed = await service.get(Suspensions).suspend(user.id);
    const text = changed
      ? `${user.email} is suspended: it cannot sign in, and its sessions and tokens are refused. Its data is kept.`
      : `${user.email} was suspended already.`;
    return { ...fieldsOf(user), state: 'suspended', changed, text };
  });
}

/** Undoes that at once. @throws NotFound */
export function resumeUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const changed = await service.get(Suspensions).resume(user.id);
    const text = changed
      ? `${user.email} is active again, with the sessions and tokens it had.`
      : `${user.email} was not suspended.`;
    return { ...fieldsOf(user), state: 'active', changed, text };
  });
}

/** Reports what either command would do. @throws NotFound */
export function previewSuspension(email: string, isToBeSuspended: boolean): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const state = isToBeSuspended ? 'suspended' : 'active';
    const changed = (user.suspendedAt !== null) !== isToBeSuspended;
    const text = changed ? `${user.email} would be ${state}.` : `${user.email} is ${state} already.`;
    return { dryRun: true, ...fieldsOf(user), state, changed, text };
  });
}

const fieldsOf = ({ id, email }: UserEntity): { id: string; email: string } => ({ id, email });
