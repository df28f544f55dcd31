import type { Command } from 'commander';
import { Invitations } from '../../../domain/accounts/index.js';
import { BY_OPERATOR } from '../../../domain/auth/audit/index.js';
import {
  createUser,
  deleteUser,
  listUsers,
  resetFactors,
  resetPassword,
  resumeUser,
  setAdministrator,
  showUser,
  suspendUser,
  unlinkUser,
  type UserAction,
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

const LISTED = 1_000;

/**
 * Prints the link of a new invitation; the service also mails it if it can.
 * @throws Conflict when the address has an account
 */
const inviteUser: UserAction = (address, { dryRun }) =>
  withService(async (service) => {
    const invitations = service.get(Invitations);
    if (dryRun) {
      const email = await invitations.invitable(address);
      return { dryRun, email, text: `${email} would be invited; an earlier invitation would end` };
    }
    const { email, link, expiresAt, isMailed } = await invitations.invite(address, BY_OPERATOR);
    const mailed = isMailed
      ? 'A mail with this link is on its way; pass the link on if it does not arrive. '
      : '';
    const text = `Invited ${email}. ${mailed}This link makes the account, once, until ${expiresAt.toISOString()}:\n${link}`;
    return { email, link, expiresAt, mailed: isMailed, text };
  });

function listInvitations(): Promise<Report> {
  return withService(async (service) => {
    const invitations = await service.get(Invitations).open(LISTED);
    const lines = invitations.map(({ email, expiresAt }) => `until ${expiresAt.toISOString()}  ${email}`);
    return { invitations, text: lines.join('\n') || 'There is no open invitation.' };
  });
}

/** Ends an invitation. @throws NotFound */
function revokeInvitation(address: string): Promise<Report> {
  return withService(async (service) => {
    await service.get(Invitations).revoke(address, BY_OPERATOR);
    const email = address.toLowerCase();
    return { email, text: `The invitation of ${email} is revoked.` };
  });
}

const ACCOUNTS = 100;

export function addUsers(program: Command, run: Run): void {
  const user = program.command('user').description('accounts');
  addCreation(user, run);
  const act = (name: string, description: string, action: UserAction): void =>
    addAction(user, run, name, description, action);
  act(
    'reset-password',
    'set a new password, generated and shown once, and end all sessions; access tokens stay',
    resetPassword,
  );
  act(
    'reset-factors',
    'remove the second factor and all passkeys, and end all sessions; the password stays',
    resetFactors,
  );
  act(
    'unlink',
    'end the link of an account to single sign-on, and all its sessions; its data stays',
    unlinkUser,
  );
  addLooks(user, run);
  act(
    'suspend',
    'refuse sign-in, sessions and tokens on every instance within 5 s; no data is lost',
    suspendUser,
  );
  act('resume', 'end a suspension at once', resumeUser);
  addDeletion(user, run);
  act(
    'promote',
    'make the user an administrator, who may use /admin with a second factor',
    setAdministrator(true),
  );
  act('demote', 'end that at once', setAdministrator(false));
  addInvitations(user, run);
}

function addAction(user: Command, run: Run, name: string, description: string, action: UserAction): void {
  user
    .command(name)
    .addArgument(emailArgument())
    .addOption(dryRunOption())
    .description(description)
    .action((address: string, options: DryRun) => run(() => action(address, options)));
}

function addCreation(user: Command, run: Run): void {
  user
    .command('create')
    .argument('<email>', 'address to sign in with', newEmail)
    .option('--name <name>', 'display name; by default the part before the @', personName)
    .addOption(dryRunOption())
    .description('create an account; its password is generated and shown once')
    .action((address: string, options: DryRun & { name?: string }) =>
      run(() => createUser(address, options)),
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

function addDeletion(user: Command, run: Run): void {
  const remove = user.command('delete');
  remove
    .addArgument(emailArgument())
    .option('--yes', 'confirm; this cannot be undone')
    .addOption(dryRunOption())
    .description('permanently delete an account and all its data')
    .action((address: string, { yes, dryRun }: DryRun & { yes?: true }) => {
      if (!yes && !dryRun)
        remove.error('This deletion is permanent: confirm with --yes, or preview with --dry-run.');
      return run(() => deleteUser(address, { dryRun }));
    });
}

function addInvitations(user: Command, run: Run): void {
  user
    .command('invite')
    .argument('<email>', 'address to invite', newEmail)
    .addOption(dryRunOption())
    .description('print a link that makes an account, once, within 7 days; replaces an earlier one')
    .action((address: string, options: DryRun) => run(() => inviteUser(address, options)));

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
