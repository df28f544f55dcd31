import { PasswordReset, Users } from '../auth/index.js';
import { accountOf } from './account-of.js';
import { generatePassword, SHOWN_ONCE } from './generate-password.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** Gives an account a password of our making and ends its sessions. @throws NotFound */
export function resetPassword(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const password = generatePassword();
    const sessions = await service.get(PasswordReset).run(user.id, password);
    const text = `${user.email} has the new password ${password}\n${SHOWN_ONCE}\n${inWords(sessions, 'ended')}`;
    return { id: user.id, email: user.email, password, sessions, text };
  });
}

/** What that would do. @throws NotFound */
export function previewReset(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const hasPassword = await service.get(Users).hasPassword(user.id);
    const sessions = await service.get(PasswordReset).preview(user.id);
    const password = hasPassword ? 'a new password' : 'a password, which it has not yet';
    const text = `${user.email} would get ${password}\n${inWords(sessions, 'would be ended')}`;
    return { dryRun: true, id: user.id, email: user.email, hasPassword, sessions, text };
  });
}

function inWords(sessions: number, ended: string): string {
  const count = sessions === 1 ? '1 session' : `${sessions} sessions`;
  return `${count} ${ended}. Personal access tokens stay; revoke them at /account.`;
}
