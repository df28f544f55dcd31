import { BY_OPERATOR } from '../../domain/auth/audit/index.js';
import { Administrators } from '../../domain/auth/index.js';
import type { Report } from './report.js';
import { accountOf, withService } from './with-service.js';

/** Makes a user an administrator, or ends that; takes effect with the user's next request. @throws NotFound */
export function setAdministrator(email: string, isToBe: boolean): Promise<Report> {
  return withService(async (service) => {
    const { id, email: address } = await accountOf(service, email);
    const administrators = service.get(Administrators);
    const changed = await administrators[isToBe ? 'promote' : 'demote'](id, BY_OPERATOR);
    const hasSecondFactor = await administrators.hasSecondFactor(id);
    const state = isToBe ? 'an administrator' : 'no administrator';
    const missing = isToBe && !hasSecondFactor ? ` ${NEEDS_FACTOR}` : '';
    const text = `${address} is ${changed ? 'now' : 'already'} ${state}.${missing}`;
    return { id, email: address, administrator: isToBe, changed, hasSecondFactor, text };
  });
}

/** Reports what `setAdministrator` would do. @throws NotFound */
export function previewAdministrator(email: string, isToBe: boolean): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const changed = (user.promotedAt !== null) !== isToBe;
    const state = isToBe ? 'an administrator' : 'no administrator';
    const text = `${user.email} ${changed ? 'would be' : 'is already'} ${state}.`;
    return { dryRun: true, id: user.id, email: user.email, administrator: isToBe, changed, text };
  });
}

const NEEDS_FACTOR = '/admin opens once the account has a second factor: set one up at /account.';
