import { randomBytes } from 'node:crypto';
import { Users } from '../auth/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** Creates an account with a password of our making, also where sign-up is switched off. @throws Conflict */
export function createUser(email: string, name = email.split('@')[0] ?? email): Promise<Report> {
  return withService(async (service) => {
    const password = randomBytes(15).toString('base64url');
    const user = await service.get(Users).create(email, name, password);
    const text = `Created ${user.email} with the password ${password}\nIt is not shown again; sign in and change it.`;
    return { id: user.id, email: user.email, name: user.name, password, text };
  });
}
