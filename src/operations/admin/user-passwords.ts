import { generatePassword, PasswordReset, Users } from '../../domain/auth/index.js';
import { Conflict } from '../../platform/http/index.js';
import type { Report } from './report.js';
import { accountOf, withService } from './with-service.js';

/** Creates an account with a generated password, even if sign-up is disabled. @throws Conflict */
export function createUser(email: string, name = nameIn(email)): Promise<Report> {
  return withService(async (service) => {
    const password = generatePassword();
    const user = await service.get(Users).create(email, name, password);
    const text = `Created ${user.email} with the password ${password}\n${SHOWN_ONCE}`;
    return { id: user.id, email: user.email, name: user.name, password, text };
  });
}

/**
 * Reports what `createUser` would do. A user who has only used dev-login would get a password, and keep the name. @throws
 * Conflict
 */
export function previewUser(email: string, name = nameIn(email)): Promise<Report> {
  return withService(async (service) => {
    const users = service.get(Users);
    const user = await users.findByEmail(email);
    if (user && (await users.hasPassword(user.id)))
      throw new Conflict(`an account for ${email} already exists`);
    const text = user ? `${user.email} would get a password` : `${email.toLowerCase()} would be created`;
    const fields = { email: email.toLowerCase(), name: user?.name ?? name, isNew: user === null };
    return { dryRun: true, ...fields, text };
  });
}

function nameIn(email: string): string {
  return email.split('@')[0] ?? email;
}

/** Gives an account a generated password and ends its sessions. @throws NotFound */
export function resetPassword(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const password = generatePassword();
    const sessions = await service.get(PasswordReset).run(user.id, password);
    const text = `${user.email} has the new password ${password}\n${SHOWN_ONCE}\n${inWords(sessions, 'ended')}`;
    return { id: user.id, email: user.email, password, sessions, text };
  });
}

/** Reports what `resetPassword` would do. @throws NotFound */
export function previewReset(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const hasPassword = await service.get(Users).hasPassword(user.id);
    const sessions = await service.get(PasswordReset).preview(user.id);
    const password = hasPassword ? 'a new password' : 'its first password';
    const text = `${user.email} would get ${password}\n${inWords(sessions, 'would be ended')}`;
    return { dryRun: true, id: user.id, email: user.email, hasPassword, sessions, text };
  });
}

function inWords(sessions: number, ended: string): string {
  const count = sessions === 1 ? '1 session' : `${sessions} sessions`;
  return `${count} ${ended}. Personal access tokens stay; revoke them at /account.`;
}

/** The note printed with a new password. */
const SHOWN_ONCE = 'It is not shown again. To change it, sign in and send POST /api/auth/change-password.';
