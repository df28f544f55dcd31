// Faults in how a client handles the keys of a vault (client/src/core).

const MODEL = [['test/invariants/vault-keys.spec.ts', 'always leave a vault that opens']];
const vault = (pattern) => [['test/process/vault.spec.ts', pattern]];

export const VAULT_MUTANTS = [
  {
    name: 'first slot of an old vault for the new password',
    promise: 'In a vault without slots, the old password opens until the new one is known to be stored.',
    file: 'client/src/core/vault/password.ts',
    find: '  if (vault.openedBy) return vault;\n',
    replace: '  if (vault.proof) return vault;\n',
    tests: MODEL,
  },
  {
    name: 'slots deleted although they were replaced',
    promise: 'A device deletes only the slot that it has seen.',
    file: 'client/src/core/vault/key-slots.ts',
    find: `header: { 'If-Match': \`"\${updatedAt}"\` } };`,
    replace: `header: updatedAt === '' ? { 'If-Match': '""' } : {} };`,
    tests: MODEL,
  },
  {
    name: 'recovery key counts without being typed',
    promise: 'A recovery key opens the vault only after its owner has typed it.',
    file: 'client/src/core/vault/recovery.ts',
    find: 'if ((await formatRecoveryKey(copied)) !== text) throw',
    replace: "if ((await formatRecoveryKey(copied)) === '') throw",
    tests: vault('was not confirmed'),
  },
  {
    name: 'vault in use before it has a slot',
    promise: 'A vault is used only when its password opens it.',
    file: 'client/src/core/vault/vault.ts',
    find: '    await slots.put(slotId, slot, proof);\n',
    replace: '    void slots.put(slotId, slot, proof).catch(() => undefined);\n',
    tests: [['test/client/vault.spec.ts', 'is returned only when']],
  },
  {
    name: 'old workspace deleted unverified',
    promise: 'A rotation deletes the old workspace only after every byte has been compared.',
    file: 'client/src/core/rotation/rotate.ts',
    find: '    await copy.verify(plan);\n',
    replace: '',
    tests: vault('deletes nothing when'),
  },
  {
    name: 'what is written during a rotation is left behind',
    promise: 'A rotation copies what is written while it runs.',
    file: 'client/src/core/rotation/rotate.ts',
    find: 'if (isSame && (await extended(plan, old)).steps.length === plan.steps.length) break;',
    replace: 'if (isSame) break;',
    tests: vault('while it compares'),
  },
  {
    name: 'rotation under a derived key',
    promise: 'A rotation encrypts nothing under a key that is derived from the new password.',
    file: 'client/src/core/rotation/rotate.ts',
    find: '{ hasSlots: true }',
    replace: '{ hasSlots: false }',
    tests: vault('encrypts nothing under a derived key'),
  },
  {
    name: 'checkpoints compared by label alone',
    promise:
      'A rotation deletes the old workspace only when each checkpoint marks the same state in the new one.',
    file: 'client/src/core/rotation/rotation-copy.ts',
    find: 'JSON.stringify([cursor, kind, label])',
    replace: 'JSON.stringify([cursor && 0, kind, label])',
    tests: vault('a checkpoint marks another state'),
  },
  {
    name: 'two rotations with one record',
    promise: 'A rotation whose record another one has replaced deletes nothing.',
    file: 'client/src/core/rotation/rotate.ts',
    find: 'if ((await store.load())?.newId !== record.newId)',
    replace: 'if ((await store.load())?.newId === undefined)',
    tests: vault('another rotation has begun'),
  },
  {
    name: 'the old password is left unnoticed',
    promise: 'A change of the password says so when the old one still opens the vault.',
    file: 'client/src/core/vault/password.ts',
    find: '(await openingSlots(slots, unknown, old, 1)).length > 0',
    replace: '(await openingSlots(slots, unknown, old, 1)).length > 4',
    tests: [['test/client/vault.spec.ts', 'another device has written the old password']],
  },
];
