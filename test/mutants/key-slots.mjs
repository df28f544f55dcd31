// Faults in the routes that store key slots.

const SLOTS = 'test/api/key-slots.spec.ts';
const SERVICE = 'src/key-slots/key-slots.service.ts';
const QUERIES = 'src/key-slots/key-slots.queries.ts';

export const KEY_SLOT_MUTANTS = [
  {
    name: 'key slots without proof',
    promise: 'A token alone neither adds nor removes a key slot.',
    file: SERVICE,
    find: 'if (!equalSecrets(workspace.verificationHash, verificationHash)) {',
    replace: 'if (equalSecrets(workspace.verificationHash, "")) {',
    tests: [[SLOTS, 'is 403 without the right verificationHash']],
  },
  {
    name: 'the last key slot can be deleted',
    promise: 'A vault that has had a key slot keeps one.',
    file: SERVICE,
    find: 'if (others.length === 0 ||',
    replace: 'if (others.length < 0 ||',
    tests: [[SLOTS, '409 for the last slot|keeps the last slot that opens']],
  },
  {
    name: 'a slot that opens nothing counts as a way into the vault',
    promise: 'The last slot that a reader opens cannot be deleted.',
    file: SERVICE,
    find: '(isOpenable(existing) && !others.some(isOpenable))',
    replace: '(isOpenable(existing) && others.length === 0)',
    tests: [[SLOTS, 'keeps the last slot that opens']],
  },
  {
    name: 'slots that no reader opens',
    promise: 'No slot is stored that a reader must refuse.',
    file: 'src/key-slots/key-slots.dto.ts',
    find: 'return isKind(kind) && kdfFault(kind, kdf) === undefined;',
    replace: "return isKind(kind) && (kdfFault(kind, kdf) === undefined || typeof kdf === 'object');",
    tests: [[SLOTS, 'is 400 for a kdf that readers refuse']],
  },
  {
    name: 'wrapped keys of any length',
    promise: 'No slot is stored whose wrapped key has another length than 93 bytes.',
    file: 'src/automation/key-slot-crypto.ts',
    find: 'const WRAPPED_KEY = /^[A-Za-z0-9+/]{124}$/;',
    replace: 'const WRAPPED_KEY = /^[A-Za-z0-9+/]{4,124}$/;',
    tests: [[SLOTS, 'a wrappedKey of 3 bytes']],
  },
  {
    name: 'key slots written without the lock',
    promise: 'Two devices that delete each other’s key slots leave one.',
    file: QUERIES,
    find: ' AND deleted_at IS NULL FOR NO KEY UPDATE',
    replace: ' AND deleted_at IS NULL',
    tests: [[SLOTS, 'never delete the last slot|never exceed the caps']],
  },
  {
    name: 'key slots without If-Match',
    promise: 'A write with If-Match replaces only the slot that the client has seen.',
    file: SERVICE,
    find: 'if (ifMatch === null) return;',
    replace: 'if (ifMatch === null || existing) return;',
    tests: [[SLOTS, 'lets a write pass only if the slot is as it was']],
  },
  {
    name: 'key slots whose time can repeat',
    promise: 'The time of a key slot rises with every replacement, also when the clock is set back.',
    file: QUERIES,
    find: "updated_at = greatest(excluded.updated_at, (s.updated_at AT TIME ZONE 'UTC' + interval '1 millisecond') AT TIME ZONE 'UTC')",
    replace: 'updated_at = excluded.updated_at',
    tests: [[SLOTS, 'a later updatedAt even when the clock is set back']],
  },
  {
    name: 'guesses at a key slot without a limit',
    promise: 'Key slots of a workspace are written at most ten times a minute.',
    file: SERVICE,
    find: 'await this.rateLimiter.hit(`key-slots:${workspaceId}`, WRITES_PER_MINUTE);',
    replace: '',
    tests: [[SLOTS, 'allows ten writes a minute']],
  },
  {
    name: 'key slots survive their workspace',
    promise: 'A deleted workspace takes its key slots with it.',
    file: 'src/key-slots/key-slots.module.ts',
    find: 'purge.addStep(async (workspaceId) => (await database.run(keySlotStatements.purge, [workspaceId])).length);',
    replace: 'purge.addStep(async () => Promise.resolve(database ? 0 : 1));',
    tests: [[SLOTS, 'takes its slots with it']],
  },
  {
    name: 'an export with the proof of its vaults',
    promise: 'An export and a session are not enough to replace the key slots of a vault.',
    file: 'src/export/export.queries.ts',
    find: `encryption_salt AS "encryptionSalt",
            verification_salt`,
    replace: `encryption_salt AS "encryptionSalt", verification_hash AS "verificationHash",
            verification_salt`,
    tests: [['test/api/export.spec.ts', 'has no proof of knowledge']],
  },
];
