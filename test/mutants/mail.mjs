// Faults in mail and in the links that it carries.

const QUEUE = 'test/invariants/mail-queue.spec.ts';
const RECOVERY = 'test/api/password-recovery.spec.ts';
const VERIFICATION = 'test/api/email-verification.spec.ts';
const NOTICES = 'test/api/mail-notices.spec.ts';

export const MAIL_MUTANTS = [
  {
    name: 'mail without a lease',
    promise: 'Of several instances, one sends a mail.',
    file: 'src/mail/mail-queue.queries.ts',
    find: 'SET due_at = $3, attempts',
    replace: 'SET due_at = least($3, m.due_at), attempts',
    tests: [[QUEUE, 'is sent once, however many instances']],
  },
  {
    name: 'mail to a refused recipient is retried',
    promise: 'A recipient that is refused permanently is given up at once.',
    file: 'src/mail/smtp-sender.ts',
    find: 'responseCode >= IS_PERMANENT',
    replace: 'responseCode >= 2 * IS_PERMANENT',
    tests: [[QUEUE, 'refuses the recipient permanently']],
  },
  {
    name: 'links work more than once',
    promise: 'A link in a mail works once.',
    file: 'src/auth/mail-links.ts',
    find: 'WHERE token_hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3\n     RETURNING',
    replace: 'WHERE token_hash = $1 AND purpose = $2 AND expires_at > $3\n     RETURNING',
    tests: [[RECOVERY, 'fifty times at once']],
  },
  {
    name: 'a repeated mail makes its link valid again',
    promise: 'A used link never works again.',
    file: 'src/auth/mail-links.ts',
    find: '(l.token_hash = excluded.token_hash AND l.used_at IS NULL)',
    replace: 'l.token_hash = excluded.token_hash',
    tests: [[RECOVERY, 'is not made valid again by a repeat']],
  },
  {
    name: 'links outlive a change of the password',
    promise: 'A change of the password ends the links for a new one.',
    file: 'src/auth/password-change.ts',
    find: "await revokeLinks(tx, user.id, this.clock.now(), 'verify-email');",
    replace: '',
    tests: [[RECOVERY, 'stops working when']],
  },
  {
    name: 'sign-up tells a taken address by its fields',
    promise: 'A sign-up with a taken address is answered as one with a new address.',
    file: 'src/auth/password-plugin.ts',
    find: 'if (mustVerify)\n              await fit(',
    replace: 'if (!mustVerify)\n              await fit(',
    tests: [[VERIFICATION, 'answers as one with a new address']],
  },
  {
    name: 'opening a link confirms the address',
    promise: 'Only a posted form uses a link.',
    file: 'src/mail-pages/verify.controller.ts',
    find: 'await this.confirmForms.open(request, reply, this.link);',
    replace: `const [, token = ''] = /token=([\\w-]+)/.exec(request.url) ?? [];
    await this.verification.confirm(token, { ip: request.ip, userAgent: '' });
    await this.confirmForms.open(request, reply, this.link);`,
    tests: [[VERIFICATION, 'has no session until']],
  },
  {
    name: 'the address changes without a recent sign-in',
    promise: 'Changing the address needs the password unless it was given recently.',
    file: 'src/account/email-form.ts',
    find: 'const unconfirmed = await this.forms.confirm(submitted);',
    replace: 'const unconfirmed = undefined as Awaited<ReturnType<AccountForms["confirm"]>>;',
    tests: [[NOTICES, 'needs the password unless']],
  },
];
