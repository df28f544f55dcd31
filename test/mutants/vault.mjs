// Faults in the client of a vault's keys (examples/vault).

const MODEL = [['test/invariants/vault-keys.spec.ts', 'always leave a vault that opens']];
const vault = (pattern) => [['test/process/vault.spec.ts', pattern]];

export const VAULT_MUTANTS = [
  {
    name: 'change of the password deletes first, then adds',
    promise:
      'At every moment of a change of the password, the password that was acknowledged last opens the vault.',
    file: 'examples/vault/password.ts',
    find: '  const freshId = await addPassword(vault, fresh);\n  whenAdded();\n',
    replace: '',
    also: [
      {
        find: '  const isOther = (',
        replace: '  const freshId = await addPassword(vault, fresh);\n  whenAdded();\n  const isOther = (',
      },
    ],
    tests: MODEL,
  },
  {
    name: 'first slot of an old vault for the new password',
    promise: 'In a vault without slots, the old password opens until the new one is known to be stored.',
    file: 'examples/vault/password.ts',
    find: '  if (vault.openedBy) return vault;\n',
    replace: '  if (vault.proof) return vault;\n',
    tests: MODEL,
  },
  {
    name: 'slots deleted although they were replaced',
    promise: 'A device deletes only the slot that it has seen.',
    file: 'examples/vault/key-slots.ts',
    find: `const headers = { 'if-match': \`"\${updatedAt}"\` };`,
    replace: `const headers = updatedAt === '' ? { 'if-match': '""' } : {};`,
    tests: MODEL,
  },
  {
    name: 'recovery key counts without being typed',
    promise: 'A recovery key opens the vault only after its owner has typed it.',
    file: 'examples/vault/recovery.ts',
    find: 'if (!parseRecoveryKey(typed).equals(key)) throw',
    replace: 'if (parseRecoveryKey(typed).length === 0) throw',
    tests: vault('was not confirmed'),
  },
  {
    name: 'keys derived although slots are hidden',
    promise: 'A client does not encrypt under a derived key when the service hides the key slots.',
    file: 'examples/sync-folder/account.ts',
    find: 'if (account.hasKeySlots && !vault.openedBy)',
    replace: 'if (account.hasKeySlots && !vault)',
    tests: vault('hides the slots'),
  },
  {
    name: 'vault in use before it has a slot',
    promise: 'A vault is used only when its password opens it.',
    file: 'examples/vault/create.ts',
    find: '  await slots.put(slotId, slot, proof);\n',
    replace: '  void slots.put(slotId, slot, proof).catch(() => undefined);\n',
    tests: vault('returns a vault only when'),
  },
  {
    name: 'old workspace deleted unverified',
    promise: 'A rotation deletes the old workspace only after every byte has been compared.',
    file: 'examples/vault/rotate.ts',
    find: '    await copy.verify(plan);\n',
    replace: '',
    tests: vault('deletes nothing when'),
  },
  {
    name: 'what is written during a rotation is left behind',
    promise: 'A rotation copies what is written while it runs.',
    file: 'examples/vault/rotate.ts',
    find: 'if (isSame && (await extended(plan, old)).steps.length === plan.steps.length) break;',
    replace: 'if (isSame) break;',
    tests: vault('while it compares'),
  },
];
