// Faults that help whoever made an account with a stranger's address, or stole a session, a password or a link.

const SPEC = 'test/api/account-attacks.spec.ts';

export const ATTACK_MUTANTS = [
  {
    name: 'a link of an earlier holder',
    promise: 'Whoever created an account with an address that is not theirs has no link that moves it away.',
    file: 'src/auth/single-sign-on/earlier-access.ts',
    find: 'await revokeLinks(tx, userId, now);',
    replace: '',
    tests: [[SPEC, 'cannot move it away by a link']],
  },
  {
    name: 'passkeys of an earlier holder',
    promise: 'The first proof of an address ends the passkeys and tokens of whoever made the account.',
    file: 'src/auth/password-recovery.ts',
    find: 'if (isFirstProof) await tx.run(factorStatements.removePasskeys, [userId]);',
    replace: '',
    tests: [[SPEC, 'loses passkeys and tokens']],
  },
  {
    name: 'a link that outlives the sign-in that sent it',
    promise: 'Ending sign-ins ends the links to another address.',
    file: 'src/auth/email-change.ts',
    find: "if (action === 'sessions.ended')",
    replace: 'if (false)',
    tests: [[SPEC, 'that a thief has sent']],
  },
  {
    name: 'a mail for each sign-up with a taken address',
    promise: 'Nobody can have more than a few mails an hour sent to somebody else.',
    file: 'src/auth/email-verification.ts',
    find: "if (!(await this.limit.hasRoom('address-taken', email))) return;",
    replace: '',
    tests: [[SPEC, 'of sign-ups with a taken address']],
  },
  {
    name: 'notices without end to a stranger',
    promise: 'An address that nobody has confirmed gets a few notices an hour at most.',
    file: 'src/notices/security-notices.ts',
    find: "user.isVerified || (await this.limit.hasRoom('notice', to, run))",
    replace: 'true',
    tests: [[SPEC, 'that is not confirmed are few']],
  },
  {
    name: 'a set-up without an end',
    promise: 'A session that is not recent cannot turn the second factor on.',
    file: 'src/auth/factors/second-factors.ts',
    find: 'return stored.begunAt.getTime() > this.clock.now().getTime() - SET_UP_MS;',
    replace: 'return true;',
    tests: [[SPEC, 'not finished by a session that is not recent']],
  },
  {
    name: 'a set-up that confirms a form',
    promise: 'A code confirms a form only if the second factor is on.',
    file: 'src/auth/browser-factors.ts',
    find: 'if ((await this.factors.codesLeft(userId)) === null) return false;',
    replace: '',
    tests: [[SPEC, 'confirms nothing on the pages']],
  },
  {
    name: 'a passkey from anywhere',
    promise: 'A sign-in from a new network is told, whatever it was made with.',
    file: 'src/auth/sign-in-passwords.ts',
    find: 'if (request?.hasFactor) await this.noteNetwork(session, request);',
    replace: '',
    tests: [[SPEC, 'with a passkey']],
  },
];
