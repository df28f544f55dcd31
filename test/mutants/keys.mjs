// Faults in the cryptography of key slots, and in how the service opens vaults by them.

const CRYPTO = 'test/contract/key-slot-crypto.spec.ts';
const SESSIONS = 'test/api/automation-key-slots.spec.ts';

export const KEY_MUTANTS = [
  {
    name: 'weak parameters',
    promise: 'A service cannot have a password derived so cheaply that it can be guessed.',
    file: 'src/domain/automation/key-slot-kdf.ts',
    find: "if (value < least) throw new KdfRefused('too weak');",
    replace: '',
    tests: [[CRYPTO, 'refuses parameters of a password, before any work']],
  },
  {
    name: 'expensive parameters',
    promise: 'A service cannot stop a client with parameters that take all its memory or hours.',
    file: 'src/domain/automation/key-slot-kdf.ts',
    find: "if (value > most) throw new KdfRefused('too expensive');",
    replace: 'if (value > 2 * most) throw new KdfRefused(`too expensive`);',
    tests: [[CRYPTO, 'refuses parameters of a password, before any work']],
  },
  {
    name: 'parameters are checked after the work',
    promise: 'Parameters outside the bounds are refused before any work is done.',
    file: 'src/domain/automation/key-slot-kdf.ts',
    find: 'const checked = checkPasswordKdf(kdf);',
    replace: `const given = kdf as { name: unknown; iterations: number };
  if (given?.name === 'pbkdf2-sha256' && given.iterations > 0 && given.iterations < 600_000)
    await pbkdf2Async(password, 'x', given.iterations, KEY_BYTES, 'sha256');
  const checked = checkPasswordKdf(kdf);`,
    tests: [[CRYPTO, 'refuses parameters of a password, before any work']],
  },
  {
    name: 'slots are not bound to their place',
    promise: 'A wrapped key of another workspace or slot does not open.',
    file: 'src/domain/automation/key-slot-crypto.ts',
    find: 'openEnvelope(key, wrapped, associatedWith(place))',
    replace: 'openEnvelope(key, wrapped, associatedWith({ ...place, slotId: place.workspaceId }))',
    also: [
      {
        find: 'sealEnvelope(key, masterKey, associatedWith(place), fixed)',
        replace:
          'sealEnvelope(key, masterKey, associatedWith({ ...place, slotId: place.workspaceId }), fixed)',
      },
    ],
    tests: [[CRYPTO, 'slot: ']],
  },
  {
    name: 'typing errors pass as recovery keys',
    promise: 'A typing error in a recovery key is told apart from the key of another vault.',
    file: 'src/domain/automation/recovery-key.ts',
    find: 'if (isRight) return key;',
    replace: 'if (isRight || bytes.length > 0) return key;',
    tests: [
      [CRYPTO, 'a typing error in a recovery key'],
      [SESSIONS, 'tells a typing error'],
    ],
  },
  {
    name: 'old passwords go on opening',
    promise: 'Once a vault has a password slot, its password of before opens no key session.',
    file: 'src/domain/automation/slot-keys.ts',
    find: 'if (key) return key;\n    if (left === 0)',
    replace:
      'const old = key ?? (await this.derived(vault, password));\n    if (old) return old;\n    if (left === 0)',
    tests: [[SESSIONS, 'opens with the new password alone']],
  },
  {
    name: 'a recovery key locks the password out',
    promise: 'A vault of before opens with its password until that is replaced.',
    file: 'src/domain/automation/slot-keys.ts',
    find: 'tried.length + left === 0',
    replace: 'slots.length === 0',
    tests: [[SESSIONS, 'after a recovery key and a passkey were added']],
  },
  {
    name: 'slots with another key open',
    promise: 'The key from a slot is checked against the verification hash of the workspace.',
    file: 'src/domain/automation/slot-keys.ts',
    find: 'if (isMasterKey(key)) return key;',
    replace: 'if (isMasterKey(key) || key.length === 32) return key;',
    tests: [[SESSIONS, 'does not open with a slot that holds another key']],
  },
  {
    name: 'requests without a budget',
    promise:
      'One request to open a key session holds a thread for two seconds at most, whatever the slots say.',
    file: 'src/domain/automation/slot-keys.ts',
    find: '(spent += cost) <= MOST_PER_REQUEST',
    replace: '(spent += cost) <= 10 * MOST_PER_REQUEST',
    tests: [[SESSIONS, 'ends at the budget']],
  },
  {
    name: 'slots without a budget',
    promise: 'One derivation holds a thread for a second at most.',
    file: 'src/domain/automation/slot-keys.ts',
    find: 'cost > MOST_PER_SLOT ? [] :',
    replace: 'cost > 10 * MOST_PER_SLOT ? [] :',
    tests: [[SESSIONS, 'is nothing for parameters outside']],
  },
  {
    name: 'the costliest slot first',
    promise: 'A costly slot does not keep the others from opening.',
    file: 'src/domain/automation/slot-keys.ts',
    find: 'one.cost - other.cost',
    replace: 'other.cost - one.cost',
    tests: [[SESSIONS, 'ends at the budget']],
  },
  {
    name: 'Argon2id beside the sign-ins',
    promise: 'Key sessions and sign-ins together need no more memory at once than sign-ins alone.',
    file: 'src/domain/automation/slot-keys.ts',
    find: "(name === 'argon2id' ? this.inMemorySlot(derive) : derive())",
    replace: "(name === 'argon2id' && !derive ? this.inMemorySlot(derive) : derive())",
    tests: [[SESSIONS, 'derive with Argon2id one at a time']],
  },
  {
    name: 'derivations without a queue',
    promise: 'Two derivations run at a time, one of a user.',
    file: 'src/domain/automation/slot-keys.ts',
    find: 'atOnce: 2,\n  waiting: 64,\n  perOwner: { atOnce: 1, waiting: 16 },',
    replace: 'atOnce: 200,\n  waiting: 64,\n  perOwner: { atOnce: 100, waiting: 16 },',
    tests: [[SESSIONS, 'derive two at a time']],
  },
  {
    name: 'Argon2id on the event loop',
    promise: 'Where Node.js has no Argon2id, a thread of its own derives it.',
    file: 'src/domain/automation/argon2id.ts',
    find: 'const worker = new Worker(IN_WORKER, { eval: true, execArgv: [], workerData });',
    replace: `const end = Date.now() + 3_000;
    while (Date.now() < end);
    const worker = new Worker(IN_WORKER, { eval: true, execArgv: [], workerData: { ...workerData, memoryKiB: 8 } });`,
    tests: [[CRYPTO, 'does not hold the event loop by']],
  },
];
