// Faults in how passwords are kept, how often they may be tried, and where requests may come from.

const PASSWORDS = 'test/api/passwords.spec.ts';
const ORIGINS = 'test/api/origins.spec.ts';
const RECENT = 'test/api/recent-sign-in.spec.ts';

export const PASSWORD_MUTANTS = [
  {
    name: 'sign-ups hash inside their transaction',
    promise: 'No connection is held while a password is hashed.',
    file: 'src/auth/password-plugin.ts',
    find: 'const hash = await hasher.hash(password, request.ip);',
    replace: "const hash = '';",
    also: [
      {
        file: 'src/auth/sign-in-passwords.ts',
        find: 'return request.prepared.hash;',
        replace: `{
      const hash = await this.hasher.hash(password, request.ip);
      request.hashes.add(hash);
      return hash;
    }`,
      },
    ],
    tests: [[PASSWORDS, 'holds no connection while it waits']],
  },
  {
    name: 'any number of passwords is hashed at once',
    promise: 'Sign-ins, however many, do not delay other requests.',
    file: 'src/auth/password-hasher.ts',
    find: 'atOnce: AT_ONCE,',
    replace: 'atOnce: 1_000 * AT_ONCE,',
    tests: [[PASSWORDS, 'of 150 networks at once']],
  },
  {
    name: 'one network fills the queue of hashing',
    promise: 'A network waits only for its own password checks.',
    file: 'src/auth/password-hasher.ts',
    find: 'this.slots.take(networkKey(ip),',
    replace: "this.slots.take('all',",
    tests: [[PASSWORDS, 'one network does not keep out others']],
  },
  {
    name: 'unknown accounts are refused sooner',
    promise: 'The time of a refusal does not reveal whether the account exists.',
    file: 'src/auth/password-hasher.ts',
    find: 'if (isCurrent && !isRight) await deriveAndDiscard(password, this.cost.outdated);',
    replace: '',
    tests: [[PASSWORDS, 'takes the same time']],
  },
  {
    name: 'common passwords in capitals',
    promise: 'A common password is refused in upper case, lower case and any mixture.',
    file: 'src/auth/password-policy.ts',
    find: '.toLowerCase()',
    replace: '',
    tests: [[PASSWORDS, 'at sign-up and at a change']],
  },
  {
    name: 'old hash put back over a new password',
    promise: 'The renewal of a hash never undoes a password change.',
    file: 'src/auth/sign-in-passwords.ts',
    find: "provider_id = 'credential' AND password = $2`",
    replace: "provider_id = 'credential' AND $2 <> ''`",
    tests: [[PASSWORDS, 'is not put back over a password']],
  },
  {
    name: 'renewing a hash ends other sign-ins',
    promise: 'Concurrent sign-ins with an outdated hash all succeed.',
    file: 'src/auth/sign-in-passwords.ts',
    find: 'if (proof?.renewed === undefined) return undefined;',
    replace: 'if (proof) return undefined;',
    tests: [[PASSWORDS, 'when another one replaces the hash']],
  },
  {
    name: 'change of the password leaves the thief in',
    promise: 'A password change ends all other sessions, whatever the request contains.',
    file: 'src/auth/password-change.ts',
    find: "const ended = await this.endings.end(tx, user.id, 'password-changed', circumstances);",
    replace:
      "const ending = newSessionToken ? 'password-changed' : 'email-changed';\n      const ended = await this.endings.end(tx, user.id, ending, circumstances);",
    tests: [[PASSWORDS, 'ends all other sessions and their one-time tokens']],
  },
  {
    name: 'guessers lock out the owner',
    promise: 'A user who has signed in before never waits because others guess passwords.',
    file: 'src/auth/wrong-passwords.ts',
    find: '!((await isKnown()) && (await add(true)))',
    replace: '!(await isKnown().then(() => false))',
    tests: [[PASSWORDS, 'of one account']],
  },
  {
    name: 'only accounts that exist are counted',
    promise: 'A rate limit does not reveal whether the account exists.',
    file: 'src/auth/sign-in-passwords.ts',
    find: `request.isWrong = true;
    await this.hasher.refuse`,
    replace: 'await this.hasher.refuse',
    tests: [[PASSWORDS, 'do not reveal whether an account exists']],
  },
  {
    name: 'strangers keep the owner from changing the password',
    promise: 'Wrong sign-ins of unknown callers do not block a password change.',
    file: 'src/auth/wrong-passwords.ts',
    find: '`change-password:${userId}`',
    replace: 'signInOf(userId)',
    also: [
      {
        file: 'src/auth/password-change.ts',
        find: 'this.currentPassword.counted(user.id,',
        replace: 'this.currentPassword.counted(user.email,',
      },
    ],
    tests: [[PASSWORDS, 'by which other users cannot lock out the owner']],
  },
  {
    name: 'a network of many addresses is not counted',
    promise: 'A network has thirty tries a minute, however many addresses it has.',
    file: 'src/auth/guess-limit.ts',
    find: 'await this.rateLimiter.hit(`${action}:${networkKey(ip)}`, TRIES_PER_MINUTE.ofNetwork);',
    replace: 'networkKey(ip);',
    tests: [[PASSWORDS, 'are 30 a minute for an IPv6 /48']],
  },
  {
    name: 'account deleted beside a sign-in is a fault',
    promise: 'A user who is deleted during a request gets 401.',
    file: 'src/auth/identity.ts',
    find: 'onAPIError: { throw: true },',
    replace: '',
    tests: [[PASSWORDS, 'is 401 beside a sign-in']],
    faultIs500: true,
  },
  {
    name: 'origins are compared by how they begin',
    promise: 'An origin is compared as a whole, never by its beginning.',
    file: 'src/auth/identity.controller.ts',
    find: 'trustedOrigins.includes(origin)',
    replace: 'trustedOrigins.some((one) => origin.startsWith(one))',
    tests: [[ORIGINS, 'which is not trusted']],
  },
  {
    name: 'browsers that hide their origin are let in',
    promise: 'A browser must state the origin of a request.',
    file: 'src/auth/identity.controller.ts',
    find: " || headers.has('sec-fetch-site')) return;",
    replace: ") return;\n  headers.delete('sec-fetch-site');",
    tests: [[ORIGINS, 'is refused when it is a browser']],
  },
  {
    name: 'fetch of Node.js counts as a browser',
    promise: 'Clients other than browsers sign in without an origin.',
    file: 'src/auth/identity.controller.ts',
    find: "headers.delete('sec-fetch-mode');",
    replace: '',
    tests: [[ORIGINS, 'with the fetch of Node.js itself']],
  },
  {
    name: 'hashing for clients that have gone',
    promise: 'A sign-in whose client has disconnected leaves the queue.',
    file: 'src/auth/password-hasher.ts',
    find: 'this.slots.take(networkKey(ip), identityRequests.getStore()?.gone)',
    replace: 'this.slots.take(networkKey(ip))',
    also: [{ find: "import { identityRequests } from './identity-request.js';\n", replace: '' }],
    tests: [['test/api/passwords.spec.ts', 'for a client that has disconnected']],
  },
  {
    name: 'an old session deletes the account',
    promise: 'Deleting an account needs a password that was given in the last ten minutes.',
    file: 'src/account/account.controller.ts',
    find: '    this.recentSignIn.require(principal);\n',
    replace: '',
    tests: [[RECENT, 'refuses a new JWT of an older session']],
  },
  {
    name: 'a handoff counts as a sign-in',
    promise: 'A session that is handed over to an app is as recently confirmed as the one of the browser.',
    file: 'src/auth/browser-sessions.ts',
    find: '      confirmedAt: (found.session as { confirmedAt?: Date | null }).confirmedAt ?? null,\n',
    replace: '',
    tests: [[RECENT, 'does not count the handoff']],
  },
  {
    name: 'the password field of a form is ignored',
    promise: 'A form with a lasting effect needs a recent sign-in or the password.',
    file: 'src/pages/confirmations.ts',
    find: 'if (!session || (await this.recentSignIn.isRecent(session.id))) return undefined;',
    replace: 'if (!session || session.id) return undefined;',
    tests: [[RECENT, 'is replaced by the password']],
  },
];
