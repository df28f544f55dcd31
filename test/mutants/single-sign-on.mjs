// Faults in the sign-in through an OpenID Connect provider.

const SPEC = 'test/api/single-sign-on.spec.ts';
const ROOM = 'src/auth/single-sign-on';

export const SINGLE_SIGN_ON_MUTANTS = [
  {
    name: 'unverified addresses are linked',
    promise: 'An account is linked only by an address that the provider has verified.',
    file: `${ROOM}/single-sign-on.ts`,
    find: "if (isVerified !== true) return { refusal: 'unverified-address' };",
    replace: '',
    tests: [[SPEC, 'is not linked when email_verified is']],
  },
  {
    name: 'sign-ins of other browsers',
    promise: 'An answer of the provider works only in the browser that began the sign-in.',
    file: `${ROOM}/single-sign-on.ts`,
    find: '=> derive(`single-sign-on ${state}`)',
    replace: '=> `${derive.length} ${state}`',
    tests: [[SPEC, 'a state of another browser does nothing']],
  },
  {
    name: 'answers of other issuers',
    promise: 'An answer that names another issuer is refused before its code is sent anywhere.',
    file: `${ROOM}/provider.ts`,
    find: 'issuer === undefined ? namesIssuer : issuer !== this.issuer',
    replace: 'issuer === undefined && namesIssuer',
    tests: [[SPEC, 'is refused before the code is sent anywhere']],
  },
  {
    name: 'any nonce',
    promise: 'An ID token that was issued for another sign-in is refused.',
    file: `${ROOM}/provider.ts`,
    find: '!equalSecrets(payload.nonce, nonce)',
    replace: "nonce === ''",
    tests: [[SPEC, 'an ID token with .* is refused']],
  },
  {
    name: 'signatures with the client secret',
    promise: 'ID tokens are signed with a published key of the provider.',
    file: `${ROOM}/provider.ts`,
    find: 'const { payload } = await jwtVerify(idToken, keys, {',
    replace:
      "const secret = Buffer.from(this.configuration.oidcClientSecret ?? '');\n      ALGORITHMS.push('HS256');\n      const { payload } = await jwtVerify(idToken, (header, token) => (header.alg === 'HS256' ? secret : keys(header, token)), {",
    tests: [[SPEC, 'an ID token with .* is refused']],
  },
  {
    name: 'an address is passed on with its account',
    promise: 'Another person who gets an address at the provider does not get the account.',
    file: `${ROOM}/linked-accounts.ts`,
    find: "if (others.length > 0) return { refusal: 'other-person' };",
    replace: 'if (others.length < 0) throw new Error();',
    tests: [[SPEC, 'is not handed to another person']],
  },
  {
    name: 'accounts prepared for somebody else',
    promise:
      'Whoever created an account with an address that is not theirs has no access once its owner comes.',
    file: `${ROOM}/linked-accounts.ts`,
    find: 'const mustEnd = !user.isVerified && user.id !== signedInUserId;',
    replace: 'const mustEnd = user.id === signedInUserId && !user.isVerified;',
    tests: [[SPEC, 'loses its password, sessions and tokens']],
  },
  {
    name: 'factors prepared for somebody else',
    promise: 'Whoever created an account with an address that is not theirs has no passkey or factor there.',
    file: `${ROOM}/earlier-access.ts`,
    find: 'await tx.run(factorStatements.removePasskeys, [userId]);',
    replace: '',
    tests: [[SPEC, 'loses its second factor and passkeys too']],
  },
  {
    name: 'the provider replaces the second factor',
    promise: 'An account with a second factor has no session before its code, whatever the first step was.',
    file: 'src/auth/new-sessions.ts',
    find: 'if ((await this.factors.codesLeft(userId)) !== null) return this.wait(userId);',
    replace: '',
    tests: [[SPEC, 'asks for the code, and only then begins a session']],
  },
  {
    name: 'answers of any size',
    promise: 'A provider that sends without end does not fill the memory.',
    file: `${ROOM}/provider-fetch.ts`,
    find: 'if (length > MOST_BYTES)',
    replace: 'if (length > 256 * MOST_BYTES)',
    tests: [[SPEC, 'never reads without end']],
  },
  {
    name: 'passwords beside the provider',
    promise: 'With OIDC_ONLY nobody signs in with a password.',
    file: 'src/auth/identity.controller.ts',
    find: 'action.isPassword && this.configuration.oidcOnly',
    replace: 'action.isPassword && this.configuration.oidcOnly && false',
    tests: [[SPEC, 'POST /api/auth/.* is refused']],
  },
];
