import { type FactorCounts, FactorReset } from '../../domain/auth/index.js';
import type { Report } from './report.js';
import { accountOf, withService } from './with-service.js';

/** Removes the second factor and the passkeys of an account, and ends its sessions. @throws NotFound */
export function resetFactors(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const removed = await service.get(FactorReset).run(user.id);
    const text = `Removed ${inWords(removed)} of ${user.email}. The password stays.`;
    return { id: user.id, email: user.email, ...removed, text };
  });
}

/** Reports what `resetFactors` would remove. @throws NotFound */
export function previewResetFactors(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const counts = await service.get(FactorReset).preview(user.id);
    const text = `${inWords(counts)} of ${user.email} would be removed.`;
    return { dryRun: true, id: user.id, email: user.email, ...counts, text };
  });
}

function inWords({ factors, passkeys, sessions }: FactorCounts): string {
  const count = (number: number, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`;
  return `${count(factors, 'second factor')}, ${count(passkeys, 'passkey')} and ${count(sessions, 'session')}`;
}
