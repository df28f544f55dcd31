import { Invitations } from '../../domain/accounts/index.js';
import { BY_OPERATOR } from '../../domain/auth/audit/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** How many open invitations are listed. */
const LISTED = 1_000;

/** Prints the link of a new invitation; the service mails it as well, if it can. @throws Conflict when the address has an account */
export function inviteUser(address: string): Promise<Report> {
  return withService(async (service) => {
    const { email, link, expiresAt, isMailed } = await service.get(Invitations).invite(address, BY_OPERATOR);
    const mailed = isMailed
      ? 'A mail with this link is on its way; pass the link on if it does not arrive. '
      : '';
    const text = `Invited ${email}. ${mailed}This link makes the account, once, until ${expiresAt.toISOString()}:\n${link}`;
    return { email, link, expiresAt, mailed: isMailed, text };
  });
}

/** Reports what `inviteUser` would do. @throws Conflict */
export function previewInvitation(address: string): Promise<Report> {
  return withService(async (service) => {
    const email = await service.get(Invitations).invitable(address);
    return { dryRun: true, email, text: `${email} would be invited; an earlier invitation would end` };
  });
}

/** The invitations that were not accepted yet. */
export function listInvitations(): Promise<Report> {
  return withService(async (service) => {
    const invitations = await service.get(Invitations).open(LISTED);
    const lines = invitations.map(({ email, expiresAt }) => `until ${expiresAt.toISOString()}  ${email}`);
    return { invitations, text: lines.join('\n') || 'There is no open invitation.' };
  });
}

/** Ends an invitation. @throws NotFound */
export function revokeInvitation(address: string): Promise<Report> {
  return withService(async (service) => {
    await service.get(Invitations).revoke(address, BY_OPERATOR);
    const email = address.toLowerCase();
    return { email, text: `The invitation of ${email} is revoked.` };
  });
}
