// Faults in second factors and passkeys.

const FACTORS = 'test/api/second-factor.spec.ts';
const PAGES = 'test/api/second-factor-pages.spec.ts';
const PASSKEYS = 'test/api/passkeys.spec.ts';

export const FACTOR_MUTANTS = [
  {
    name: 'a code of the second factor works again',
    promise: 'No code of a second factor works twice.',
    file: 'src/domain/auth/factors/second-factors.ts',
    find: 'verified: true, lastStep: LessThan(step)',
    replace: 'verified: true',
    tests: [[FACTORS, 'accepts no code twice']],
  },
  {
    name: 'a backup code works again',
    promise: 'No backup code works twice.',
    file: 'src/domain/auth/auth.queries.ts',
    find: 'SET backup_codes = array_remove(backup_codes, $2)',
    replace: 'SET backup_codes = backup_codes',
    tests: [[FACTORS, 'each backup code once']],
  },
  {
    name: 'wrong codes are not counted',
    promise: 'An account allows five wrong codes in a quarter of an hour.',
    file: 'src/domain/auth/wrong-passwords.ts',
    find: 'const WRONG_CODES = { most: 5,',
    replace: 'const WRONG_CODES = { most: 5_000,',
    tests: [[FACTORS, 'ends with 429 after five wrong codes']],
  },
  {
    name: 'a sign-in that waits for the code outlives a change of the password',
    promise: 'A sign-in does not outlive the password that it began with.',
    file: 'src/domain/auth/access-endings.ts',
    find: 'await endPendingSignIns(tx.manager.getRepository(AuthVerification), userId);\n    const [ended]',
    replace: 'const [ended]',
    tests: [[FACTORS, 'ends with a change of the password']],
  },
  {
    name: 'the password alone makes a network known',
    promise: 'A sign-in leaves no trace before its second factor.',
    file: 'src/domain/auth/sign-in-passwords.ts',
    find: 'if (request.isSignIn && proven.needsFactor) return false;',
    replace: '',
    tests: [[FACTORS, 'leaves sessions and known networks alone']],
  },
  {
    name: 'any signed cookie passes as a sign-in that waits',
    promise: 'Only the cookie of a sign-in that waits identifies one.',
    file: 'src/domain/auth/factors/factor-plugin.ts',
    find: '!identifier || !PENDING_SIGN_IN.test(identifier)',
    replace: '!identifier',
    tests: [[FACTORS, 'a sign-in with a second factor']],
  },
  {
    name: 'a stolen session changes the second factor',
    promise: 'A change of a factor needs a recent sign-in.',
    file: 'src/domain/auth/factors/factor-actions.ts',
    find: "if (!(await this.recentSignIn.isRecent(session.id))) throw new Forbidden('recent sign-in required');",
    replace: '',
    tests: [[FACTORS, 'needs the password once the sign-in is not recent']],
  },
  {
    name: 'the handoff signs the browser out before the code',
    promise: 'A browser stays signed in until another account has given its code.',
    file: 'src/domain/auth/browser-sessions.ts',
    find: 'cookies: cookies.filter(isPending)',
    replace: 'cookies',
    tests: [[PAGES, 'stays signed in until the code']],
  },
  {
    name: 'passkeys without user verification are accepted',
    promise: 'A passkey counts as two factors, so its user is verified.',
    file: 'src/domain/auth/passkeys/passkey-plugin.ts',
    find: "if (!verification.authenticationInfo.userVerified) throw faultOf('NOT_VERIFIED');",
    replace: '',
    tests: [[PASSKEYS, 'no user verification']],
  },
  {
    name: 'a new passkey begins a session',
    promise: 'Adding a passkey begins no session: nobody has signed in with it yet.',
    file: 'src/domain/auth/passkeys/passkey-plugin.ts',
    find: 'isRecent, addsNoSession]',
    replace: 'isRecent]',
    also: [
      {
        file: 'src/domain/auth/identity.provider.ts',
        find: 'mayBeginSession === false',
        replace: 'mayBeginSession === undefined',
      },
    ],
    tests: [[PASSKEYS, 'begins no session']],
  },
  {
    name: 'a passkey leaves its network unknown',
    promise: 'A sign-in with a passkey is told from a new network, and makes it known.',
    file: 'src/domain/auth/sign-in-passwords.ts',
    find: 'if (request?.hasFactor) await this.noteNetwork(session, request);',
    replace: '',
    tests: [[PASSKEYS, 'makes its network known']],
  },
  {
    name: 'a session lists the tokens of the others',
    promise: 'A stolen session does not open the other sessions of its user.',
    file: 'src/domain/auth/user-sessions.ts',
    find: 'one.id === session.session.id ? one : { ...one, token: one.id }',
    replace: 'one',
    tests: [['test/api/identity.spec.ts', 'lists sessions for a day']],
  },
  {
    name: 'the last way to sign in can be removed',
    promise: 'A user can always sign in.',
    file: 'src/domain/auth/passkeys/passkeys.ts',
    find: 'if (!(await this.hasAnotherWay(tx, userId, id))) return false;',
    replace: 'await this.hasAnotherWay(tx, userId, id);',
    tests: [[PASSKEYS, 'does not remove the last way']],
  },
];
