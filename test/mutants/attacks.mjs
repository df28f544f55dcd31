// Faults that help whoever made an account with a stranger's address, or stole a session, a password or a link.

const SPEC = 'test/api/account-attacks.spec.ts';

const ENDED = 'test/invariants/ended-sessions.spec.ts';
const TABLE = 'test/api/what-ends-when.spec.ts';
const VERIFICATION = 'test/api/email-verification.spec.ts';

export const ATTACK_MUTANTS = [
  {
    name: 'JWTs outlive their session',
    promise: 'A JWT is refused on every instance within five seconds of the end of its session.',
    file: 'src/auth/jwt-verifier.ts',
    find: 'if (this.endedSessions.has(verified.sessionId)) throw new SessionEnded();',
    replace: '',
    tests: [[ENDED, 'takes its JWT with it on every instance']],
  },
  {
    name: 'sockets outlive their session',
    promise: 'Sockets are closed within five seconds of the end of their session.',
    file: 'src/realtime/token-watch.ts',
    find: 'sessionId !== undefined && ended.has(sessionId)',
    replace: 'sessionId !== undefined && !ended.has(sessionId) && false',
    tests: [[ENDED, 'closes its sockets there']],
  },
  {
    name: 'a token from a session that has just ended',
    promise: 'What outlives a session is not made from one that has ended, heard of or not.',
    file: 'src/auth/authenticator.ts',
    find: 'if ((await run.run(liveSession, values)).length === 0) throw new SessionEnded();',
    replace: 'await run.run(liveSession, values);',
    tests: [[ENDED, 'mints no token']],
  },
  {
    name: 'ended sessions by the order of their beginning',
    promise: 'An instance learns of every ended session, whatever the order of the commits.',
    file: 'src/auth/ended-sessions.ts',
    find: 'pg_snapshot_xmin(pg_current_snapshot())',
    replace: 'pg_snapshot_xmax(pg_current_snapshot())',
    tests: [[ENDED, 'in whatever order the transactions commit']],
  },
  {
    name: 'JWTs of before a change of the password',
    promise: 'A change of the password ends the JWTs of the session that makes it too.',
    file: 'src/auth/access-endings.ts',
    find: "ownSession: 'renewed',",
    replace: "ownSession: 'stays',",
    tests: [[TABLE, 'password changed by its owner']],
  },
  {
    name: 'key sessions outlive the sign-in that opened them',
    promise: 'A key session ends with the session of the JWT that has opened it.',
    file: 'src/automation/key-sessions.queries.ts',
    find: 'EXISTS (SELECT 1 FROM auth_sessions a WHERE a.id = s.session_id AND a.expires_at > $3)',
    replace: 's.session_id IS NOT NULL',
    tests: [[TABLE, 'other sign-ins ended']],
  },
  {
    name: 'an address confirmed for a stranger',
    promise: 'Confirming an address needs the password of the account.',
    file: 'src/auth/account-proof.ts',
    find: "if (typeof checked === 'string') return checked;",
    replace:
      "if (checked === 'CREDENTIAL_ACCOUNT_NOT_FOUND') return checked;\n    if (typeof checked === 'string') return this.database.transaction(work).then(() => undefined);",
    tests: [[VERIFICATION, 'asks for the password of the account']],
  },
  {
    name: 'a link for a day replaces a password',
    promise:
      'A link that confirms an address does not replace the password of an account whose address is proven.',
    file: 'src/auth/password-recovery.ts',
    find: "if (purpose === 'verify-email' && !isFirstProof) return undefined;",
    replace: '',
    tests: [[VERIFICATION, 'starts nothing anew once the address is proven']],
  },
  {
    name: 'dev-login past the second factor',
    promise: 'Dev-login passes over no second factor.',
    file: 'src/auth/dev-login.controller.ts',
    find: '(await this.factors.codesLeft(user.id)) !== null',
    replace: 'false',
    tests: [['test/api/identity.spec.ts', 'passes over no second factor']],
  },
  {
    name: 'a link of an earlier holder',
    promise: 'Whoever created an account with an address that is not theirs has no link that moves it away.',
    file: 'src/auth/access-endings.ts',
    find: "    links: 'ends',\n    accessTokens: 'ends',",
    replace: "    links: 'stays',\n    accessTokens: 'ends',",
    tests: [[SPEC, 'cannot move it away by a link']],
  },
  {
    name: 'passkeys of an earlier holder',
    promise: 'The first proof of an address ends the passkeys and tokens of whoever made the account.',
    file: 'src/auth/password-recovery.ts',
    find: "const ending = isFirstProof ? 'first-proof' : 'password-reset';",
    replace: "const ending = 'password-reset';",
    tests: [[SPEC, 'loses its second factor, passkeys and tokens']],
  },
  {
    name: 'a link that outlives the sign-in that sent it',
    promise: 'Ending sign-ins ends the links to another address.',
    file: 'src/auth/access-endings.ts',
    find: "await revokeLinks(run, userId, clock.now(), 'verify-email');",
    replace: '',
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
