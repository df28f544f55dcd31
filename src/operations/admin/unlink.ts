import { BY_OPERATOR } from '../../domain/auth/audit/index.js';
import { ProviderLinks } from '../../domain/auth/index.js';
import type { Report } from './report.js';
import { accountOf, withService } from './with-service.js';

const ONLY_WAY = ' It has no password and no passkey that works: single sign-on links it again.';

/** Ends the link of an account to single sign-on, and its sessions. @throws NotFound, also without a link */
export function unlinkUser(address: string): Promise<Report> {
  return withService(async (service) => {
    const { id, email } = await accountOf(service, address);
    const unlinked = await service.get(ProviderLinks).unlink(id, BY_OPERATOR);
    const count = `${unlinked.sessions} session${unlinked.sessions === 1 ? '' : 's'}`;
    const text = `${email} is no longer linked to single sign-on; ended ${count}.${unlinked.hasAnotherWay ? '' : ONLY_WAY}`;
    return { id, email, ...unlinked, text };
  });
}

/** Reports what `unlinkUser` would do. @throws NotFound */
export function previewUnlinking(address: string): Promise<Report> {
  return withService(async (service) => {
    const { id, email } = await accountOf(service, address);
    const { isLinked, hasAnotherWay } = await service.get(ProviderLinks).state(id);
    const text = isLinked
      ? `${email} would no longer be linked to single sign-on.${hasAnotherWay ? '' : ONLY_WAY}`
      : `${email} is not linked to single sign-on.`;
    return { dryRun: true, id, email, isLinked, hasAnotherWay, text };
  });
}
