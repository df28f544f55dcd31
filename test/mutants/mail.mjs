// Faults in mail and in the links that it carries.

const QUEUE = 'test/invariants/mail-queue.spec.ts';
const RECOVERY = 'test/api/password-recovery.spec.ts';
const VERIFICATION = 'test/api/email-verification.spec.ts';
const NOTICES = 'test/api/mail-notices.spec.ts';
const UNSUBSCRIBE = 'test/api/unsubscribe.spec.ts';
const INVITATION_MAILS = 'test/api/invitation-mails.spec.ts';
const TIMINGS = 'test/invariants/timings.spec.ts';
const LINK_RACES = 'test/invariants/mail-link-races.spec.ts';
const MAIL_TEST = 'test/process/admin-mail-test.spec.ts';

export const MAIL_MUTANTS = [
  {
    name: 'mail without a lease',
    promise: 'Of several instances, one sends a mail.',
    file: 'src/platform/mail/mail-queue.ts',
    find: 'SET due_at = $3, attempts',
    replace: 'SET due_at = least($3, m.due_at), attempts',
    tests: [[QUEUE, 'is sent once, however many instances']],
  },
  {
    name: 'mail to a refused recipient is retried',
    promise: 'A recipient that is refused permanently is given up at once.',
    file: 'src/platform/mail/smtp-sender.ts',
    find: 'responseCode >= IS_PERMANENT',
    replace: 'responseCode >= 2 * IS_PERMANENT',
    tests: [[QUEUE, 'refuses the recipient permanently']],
  },
  {
    name: 'links work more than once',
    promise: 'A link in a mail works once.',
    file: 'src/domain/auth/auth.queries.ts',
    find: 'WHERE token_hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3\n     RETURNING',
    replace: 'WHERE token_hash = $1 AND purpose = $2 AND expires_at > $3\n     RETURNING',
    tests: [[RECOVERY, 'fifty times at once']],
  },
  {
    name: 'a repeated mail makes its link valid again',
    promise: 'A used link never works again.',
    file: 'src/domain/auth/auth.queries.ts',
    find: '(l.token_hash = excluded.token_hash AND l.used_at IS NULL)',
    replace: 'l.token_hash = excluded.token_hash',
    tests: [[RECOVERY, 'is not made valid again by a repeat']],
  },
  {
    name: 'links outlive a change of the password',
    promise: 'A change of the password ends the links for a new one.',
    file: 'src/domain/auth/access-endings.ts',
    find: "if (effects.links !== 'stays')",
    replace: "if (effects.links === 'ends')",
    tests: [[RECOVERY, 'stops working when']],
  },
  {
    name: 'sign-up tells a taken address by its fields',
    promise: 'A sign-up with a taken address is answered as one with a new address.',
    file: 'src/domain/auth/sign-in-passwords.ts',
    find: 'if (mustVerify)\n              await fit(',
    replace: 'if (!mustVerify)\n              await fit(',
    tests: [[VERIFICATION, 'answers as one with a new address']],
  },
  {
    name: 'opening a link confirms the address',
    promise: 'Only a posted form uses a link.',
    file: 'src/web/mail-links/confirm.tsx',
    find: `private readonly recovery: PasswordRecovery,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {`,
    replace: `private readonly recovery: PasswordRecovery,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const [, token = ''] = /token=([\\w-]+)/.exec(request.url) ?? [];
    await this.verification.confirm(token, { ip: request.ip, userAgent: '' });`,
    tests: [[VERIFICATION, 'has no session until']],
  },
  {
    name: 'the address changes without a recent sign-in',
    promise: 'Changing the address needs the password unless it was given recently.',
    file: 'src/web/account/email-form.ts',
    find: 'const unconfirmed = await this.forms.confirm(submitted);',
    replace: 'const unconfirmed = undefined as Awaited<ReturnType<AccountForms["confirm"]>>;',
    tests: [[NOTICES, 'needs the password unless']],
  },
  {
    name: 'a link turns off mails of any account',
    promise: 'A link that turns off mails works only for the account and the kind that it was made for.',
    file: 'src/domain/accounts/notices/muted-notices.ts',
    find: 'return equalSecrets(token, this.tokenFor({ notice, userId })) ? { notice, userId } : undefined;',
    replace: 'return token.split(".").length === 3 ? { notice, userId } : undefined;',
    tests: [[UNSUBSCRIBE, 'works for the account and the kind']],
  },
  {
    name: 'a link for one kind of mail is signed for all kinds',
    promise: 'A link that turns off mails works only for the account and the kind that it was made for.',
    file: 'src/domain/accounts/notices/muted-notices.ts',
    find: "this.tokens.of('unsubscribe', `${notice}|${userId}`)",
    replace: "this.tokens.of('unsubscribe', userId)",
    tests: [[UNSUBSCRIBE, 'works for the account and the kind']],
  },
  {
    name: 'opening a link turns mails off',
    promise: 'Programs that open the links in mails change nothing.',
    file: 'src/web/mail-links/unsubscribe.tsx',
    find: 'const of = this.links.read(token);',
    replace: 'const of = this.links.read(token);\n    if (of) await this.muted.mute(of.userId, of.notice);',
    tests: [[UNSUBSCRIBE, 'is stopped by the form of the page']],
  },
  {
    name: 'mail providers cannot turn mails off without a form of ours',
    promise: 'One POST of a mail provider turns mails off, whatever its body.',
    file: 'src/web/mail-links/unsubscribe.tsx',
    find: '    await this.answer(request, reply, async (of, host) => {',
    replace: '    await Form.read(request);\n    await this.answer(request, reply, async (of, host) => {',
    tests: [[UNSUBSCRIBE, 'is stopped by a single POST']],
  },
  {
    name: 'mails that are turned off are sent',
    promise: 'A kind of mail that is turned off is not sent, not even one that is queued.',
    file: 'src/domain/accounts/notices/notices.ts',
    find: '(await this.muted.isMuted(userId, notice))',
    replace: 'userId.length === 0',
    tests: [[UNSUBSCRIBE, 'is not sent either']],
  },
  {
    name: 'turning off one kind of mail turns off all',
    promise: 'A link turns off one kind of mail and no other.',
    file: 'src/domain/accounts/notices/muted-notices.ts',
    find: 'existsBy({ userId, notice })',
    replace: 'existsBy({ userId })',
    tests: [[UNSUBSCRIBE, 'is stopped by a single POST']],
  },
  {
    name: 'security notices can be turned off',
    promise: 'Security notices cannot be turned off.',
    file: 'src/domain/accounts/notices/notices.ts',
    find: 'if (!user) return;',
    replace: "if (!user || (await tx.manager.existsBy('muted_notices', { userId }))) return;",
    tests: [[UNSUBSCRIBE, 'cannot be turned off']],
  },
  {
    name: 'no header for mail programs',
    promise: 'Mail programs can offer a button that turns mails off.',
    file: 'src/platform/mail/smtp-sender.ts',
    find: "    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',\n",
    replace: '',
    tests: [[UNSUBSCRIBE, 'has a link that turns mails']],
  },
  {
    name: 'the queue has the token of an invitation',
    promise: 'Neither queue nor database has the token of an invitation.',
    file: 'src/domain/accounts/invitations.ts',
    find: 'parameters: { id } }, tx)',
    replace: 'parameters: { id, token: this.tokenOf(id) } }, tx)',
    tests: [[INVITATION_MAILS, 'neither queue, database nor log']],
  },
  {
    name: 'revoked invitations are mailed',
    promise: 'An invitation that is revoked, replaced or over is not mailed.',
    file: 'src/domain/accounts/invitations.ts',
    find: 'if (invitation?.email !== to) return undefined;\n    const expires = invitation.expiresAt.toISOString();',
    replace: 'const expires = (invitation?.expiresAt ?? new Date(0)).toISOString();',
    tests: [[INVITATION_MAILS, 'is not mailed any more']],
  },
  {
    name: 'linking single sign-on is not told',
    promise: 'The owner of an account is told when single sign-on is linked.',
    file: 'src/domain/accounts/notices/notices.ts',
    find: "  ['single-sign-on.linked', 'single-sign-on-linked'],\n",
    replace: '',
    tests: [[NOTICES, 'but not of the link that made the account']],
  },
  {
    name: 'a link for a new password is queued only for accounts',
    promise: 'The time of an answer does not tell whether an address has an account.',
    file: 'src/domain/auth/password-recovery.ts',
    find: "await this.mail.queue({ template: 'reset-password', to: email });",
    replace: `const isFound = await this.users.existsBy({ email: email.toLowerCase(), suspendedAt: IsNull() });
    for (const end = performance.now() + 2; isFound && performance.now() < end;) ;
    if (isFound) await this.mail.queue({ template: 'reset-password', to: email });`,
    tests: [[TIMINGS, 'a forgotten password over the API']],
  },
  {
    name: 'no hash for an address without an account',
    promise: 'The time of an answer does not tell whether an address has an account.',
    file: 'src/domain/auth/sign-in-passwords.ts',
    find: 'await this.hasher.refuse(password, request.ip);',
    replace: '',
    tests: [[TIMINGS, 'a sign-in with a wrong password over the API']],
  },
  {
    name: 'a sign-up is answered as soon as it is done',
    promise: 'The time of a sign-up that must be confirmed does not tell whether the address has an account.',
    file: 'src/domain/auth/sign-in-passwords.ts',
    find: 'request.answerAt = performance.now() + SIGN_UP_MS',
    replace: 'request.answerAt = performance.now()',
    tests: [[TIMINGS, 'sign-up over the API']],
  },
  {
    name: 'another address is looked up before it is confirmed',
    promise: 'The time of an answer does not tell whether an address has an account.',
    file: 'src/domain/auth/email-verification.ts',
    find: "await this.parts.mail.queue({ template: 'change-email', to: email.toLowerCase(), userId });",
    replace: `const isTaken = await this.users.existsBy({ email: email.toLowerCase() });
    if (!isTaken) await this.parts.mail.queue({ template: 'change-email', to: email.toLowerCase(), userId });`,
    tests: [[TIMINGS, 'another address of an account']],
  },
  {
    name: 'a confirmed address can be confirmed again',
    promise: 'A link to confirm an address works once, also on two instances at once.',
    file: 'src/domain/auth/email-verification.ts',
    find: "const used = await this.links.use(tx, 'verify-email', token);",
    replace: "const used = await this.links.find('verify-email', token);",
    tests: [[LINK_RACES, 'confirms a new account']],
  },
  {
    name: 'a mail that was not sent is reported as success',
    promise: 'The exit code of `mail test` tells whether the server accepted the mail.',
    file: 'src/operations/admin/commands/mail-commands.ts',
    find: 'return { ...result, text, exitCode: 1 };',
    replace: 'return { ...result, text };',
    tests: [[MAIL_TEST, 'refuses the recipient']],
  },
  {
    name: 'a mail for each event',
    promise: 'A mail about an event cannot be buried under many others of its kind.',
    file: 'src/domain/accounts/notices/notices.ts',
    find: 'return events.filter((event) => templateFor(event) === template).length > 1;',
    replace: 'return events.filter((event) => templateFor(event) === template).length < 0;',
    tests: [['test/api/mail-notices.spec.ts', 'none is lost']],
  },
  {
    name: 'events that no mail tells of',
    promise: 'A gathered mail counts all events.',
    file: 'src/platform/mail/mail-queue.ts',
    find: "'count', ((parameters ->> 'count')::integer + 1)::text,",
    replace: "'count', (parameters ->> 'count')::text,",
    tests: [['test/api/mail-notices.spec.ts', 'none is lost|the number of all']],
  },
];
