import type { Command } from 'commander';
import { Invitations } from '../../../domain/accounts/index.js';
import { BY_OPERATOR } from '../../../domain/auth/audit/index.js';
import {
  createUser,
  deleteUser,
  listUsers,
  previewAdministrator,
  previewDeletion,
  previewReset,
  previewResetFactors,
  previewSuspension,
  previewUnlinking,
  previewUser,
  resetFactors,
  resetPassword,
  resumeUser,
  setAdministrator,
  showUser,
  suspendUser,
  unlinkUser,
} from '../user-actions.js';
import {
  type DryRun,
  dryRunOption,
  emailArgument,
  newEmail,
  personName,
  type Report,
  rowCount,
  type Run,
  withService,
} from '../with-service.js';

/** Maximum number of open invitations that are listed. */
const LISTED = 1_000;

/**
 * Prints the link of a new invitation; the service also mails it if it can.
 * @throws Conflict when the address has an account
 */
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

const ACCOUNTS = 100;

/** Adds the commands `user …`. */
export function addUsers(program: Command, run: Run): void {
  const user = program.command('user').description('accounts');
  addBeginnings(user, run);
  addLinks(user, run);
  addLooks(user, run);
  addStates(user, run);
  addAdministrators(user, run);
  addInvitations(user, run);
}

function addBeginnings(user: Command, run: Run): void {
  user
    .command('create')
    .argument('<email>', 'address to sign in with', newEmail)
    .option('--name <name>', 'display name; by default the part before the @', personName)
    .addOption(dryRunOption())
    .description('create an account; its password is generated and shown once')
    .action((address: string, { name, dryRun }: DryRun & { name?: string }) =>
      run(() => (dryRun ? previewUser(address, name) : createUser(address, name))),
    );

  user
    .command('reset-password')
    .addArgument(emailArgument())
    .addOption(dryRunOption())
    .description('set a new password, generated and shown once, and end all sessions; access tokens stay')
    .action((address: string, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewReset(address) : resetPassword(address))),
    );

  user
    .command('reset-factors')
    .addArgument(emailArgument())
    .addOption(dryRunOption())
    .description('remove the second factor and all passkeys, and end all sessions; the password stays')
    .action((address: string, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewResetFactors(address) : resetFactors(address))),
    );
}

function addLinks(user: Command, run: Run): void {
  user
    .command('unlink')
    .addArgument(emailArgument())
    .addOption(dryRunOption())
    .description('end the link of an account to single sign-on, and all its sessions; its data stays')
    .action((address: string, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewUnlinking(address) : unlinkUser(address))),
    );
}

function addLooks(user: Command, run: Run): void {
  user
    .command('list')
    .option('--search <text>', 'only those with this in the address or the name')
    .option('--after <email>', 'start after this address')
    .option('--limit <number>', 'how many, 9999 at most', rowCount, ACCOUNTS)
    .description('accounts in the order of their addresses')
    .action((options: { search?: string; after?: string; limit: number }) => run(() => listUsers(options)));

  user
    .command('show')
    .addArgument(emailArgument())
    .description('show state, subscription, storage use, sessions, tokens and devices')
    .action((address: string) => run(() => showUser(address)));
}

function addStates(user: Command, run: Run): void {
  user
    .command('suspend')
    .addArgument(emailArgument())
    .addOption(dryRunOption())
    .description('refuse sign-in, sessions and tokens on every instance within 5 s; no data is lost')
    .action((address: string, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewSuspension(address, true) : suspendUser(address))),
    );

  user
    .command('resume')
    .addArgument(emailArgument())
    .addOption(dryRunOption())
    .description('end a suspension at once')
    .action((address: string, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewSuspension(address, false) : resumeUser(address))),
    );

  const remove = user.command('delete');
  remove
    .addArgument(emailArgument())
    .option('--yes', 'confirm; this cannot be undone')
    .addOption(dryRunOption())
    .description('permanently delete an account and all its data')
    .action((address: string, { yes, dryRun }: DryRun & { yes?: true }) => {
      if (!yes && !dryRun)
        remove.error('This deletion is permanent: confirm with --yes, or preview with --dry-run.');
      return run(() => (dryRun ? previewDeletion(address) : deleteUser(address)));
    });
}

function addAdministrators(user: Command, run: Run): void {
  const descriptions = {
    promote: 'make the user an administrator, who may use /admin with a second factor',
    demote: 'end that at once',
  };
  for (const [name, description] of Object.entries(descriptions)) {
    const isToBe = name === 'promote';
    user
      .command(name)
      .addArgument(emailArgument())
      .addOption(dryRunOption())
      .description(description)
      .action((address: string, { dryRun }: DryRun) =>
        run(() => (dryRun ? previewAdministrator(address, isToBe) : setAdministrator(address, isToBe))),
      );
  }
}

function addInvitations(user: Command, run: Run): void {
  user
    .command('invite')
    .argument('<email>', 'address to invite', newEmail)
    .addOption(dryRunOption())
    .description('print a link that makes an account, once, within 7 days; replaces an earlier one')
    .action((address: string, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewInvitation(address) : inviteUser(address))),
    );

  user
    .command('invitations')
    .description('invitations that were not accepted yet')
    .action(() => run(listInvitations));

  user
    .command('uninvite')
    .addArgument(emailArgument())
    .description('end an invitation that was not accepted yet')
    .action((address: string) => run(() => revokeInvitation(address)));
}
