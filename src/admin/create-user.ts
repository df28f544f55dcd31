import { Users } from '../auth/index.js';
import { Conflict } from '../platform/http/index.js';
import { generatePassword, SHOWN_ONCE } from './generate-password.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** Creates an account with a password of our making, also where sign-up is switched off. @throws Conflict */
export function createUser(email: string, name = nameIn(email)): Promise<Report> {
  return withService(async (service) => {
    const password = generatePassword();
    const user = await service.get(Users).create(email, name, password);
    const text = `Created ${user.email} with the password ${password}\n${SHOWN_ONCE}`;
    return { id: user.id, email: user.email, name: user.name, password, text };
  });
}

/** What that would do. Somebody who has come by dev-login only would get a password, and keep their name. @throws Conflict */
export function previewUser(email: string, name = nameIn(email)): Promise<Report> {
  return withService(async (service) => {
    const users = service.get(Users);
    const user = await users.findByEmail(email);
    if (user && (await users.hasPassword(user.id)))
      throw new Conflict(`there is an account ${email} already`);
    const text = user ? `${user.email} would get a password` : `${email.toLowerCase()} would be created`;
    const fields = { email: email.toLowerCase(), name: user?.name ?? name, isNew: user === null };
    return { dryRun: true, ...fields, text };
  });
}

function nameIn(email: string): string {
  return email.split('@')[0] ?? email;
}
