// Faults in the keys of vaults: their cryptography, key slots, key sessions, and what a client does with a password.

const CRYPTO = 'test/deep/contract/key-slot-crypto.spec.ts';
const VAULT_CRYPTO = 'test/quick/contract/vault-crypto.spec.ts';
const SESSIONS = 'test/deep/api/automation-key-slots.spec.ts';
const SLOTS = 'test/quick/api/key-slots.spec.ts';
const VAULT = 'test/deep/client/vault.spec.ts';
const ROTATION = 'test/deep/process/vault-rotation-faults.spec.ts';

export const KEY_MUTANTS = [
  {
    name: 'weak key derivation accepted',
    promise: 'The service derives no key so cheaply that its password can be guessed.',
    unit: 'checkPasswordKdf',
    find: "if (Number(value) < range[0]) throw new KdfRefused('too weak');",
    replace: '',
    tests: [[CRYPTO, 'refuses parameters of a password before any derivation']],
  },
  {
    name: 'wrapped key opens in another slot',
    promise: 'A wrapped key of another workspace or slot does not open.',
    unit: 'crypto#unwrap',
    find: 'associatedWith(place)',
    replace: 'associatedWith({ ...place, slotId: place.workspaceId })',
    also: [
      {
        unit: 'crypto#wrap',
        find: 'associatedWith(place)',
        replace: 'associatedWith({ ...place, slotId: place.workspaceId })',
      },
    ],
    tests: [[CRYPTO, 'slot: ']],
  },
  {
    name: 'keys left in memory',
    promise: 'The keys of a vault are overwritten when a request has ended.',
    unit: 'WipeableKeys.wipe',
    find: 'key.fill(0)',
    replace: 'void key',
    tests: [[VAULT_CRYPTO, 'are overwritten']],
  },
  {
    name: 'wiped keys in use',
    promise: 'Nothing is encrypted under keys that have been overwritten.',
    unit: 'WipeableKeys.wipe',
    find: 'this.isWiped = true;',
    replace: '',
    tests: [[VAULT_CRYPTO, 'are overwritten']],
  },
  {
    name: 'old password opens after its replacement',
    promise: 'Once a vault has a password slot, its earlier password opens no key session.',
    unit: 'SlotKeys.byPassword',
    find: 'if (key) return key;',
    replace: 'const old = key ?? (await this.derived(vault, password));\n    if (old) return old;',
    tests: [[SESSIONS, 'opens with the new password alone']],
  },
  {
    name: 'slot with another key opens',
    promise: 'The key from a slot is checked against the verification hash of the workspace.',
    unit: 'slot-keys#ifMasterKey',
    find: 'await isMasterKey(key)',
    replace: '(await isMasterKey(key)) || key.length === 32',
    tests: [[SESSIONS, 'does not open with a slot that holds another key']],
  },
  {
    name: 'key session outlives the sign-in that opened it',
    promise: 'A key session ends with the session or token that has opened it.',
    unit: 'automation#LIVE',
    find: 'EXISTS (SELECT 1 FROM auth_sessions a WHERE a.id = s.session_id AND a.expires_at > $3)',
    replace: 's.session_id IS NOT NULL',
    tests: [['test/quick/api/what-ends-when.both.spec.ts', 'other sign-ins ended']],
  },
  {
    name: 'key slot written without proof',
    promise: 'A token alone neither adds nor removes a key slot.',
    unit: 'key-slots.service#KeySlots.write',
    find: '!equalSecrets(workspace.verificationHash, verificationHash)',
    replace: "equalSecrets(workspace.verificationHash, '')",
    tests: [[SLOTS, 'is 403 without the right verificationHash']],
  },
  {
    name: 'last key slot deleted',
    promise: 'A vault that ever had a key slot keeps one.',
    unit: 'checkAnotherOpens',
    find: 'others.length === 0',
    replace: 'others.length < 0',
    tests: [[SLOTS, '409 for the last slot|keeps the last slot that opens']],
  },
  {
    name: 'key slots written without the row lock',
    promise: 'Two devices that delete each other’s key slots leave one.',
    unit: 'workspaces.queries#lockStatements.lock',
    find: ' FOR NO KEY UPDATE',
    replace: '',
    tests: [[SLOTS, 'never delete the last slot|never exceed the caps']],
  },
  {
    name: 'proof of a vault in an export',
    promise: 'An export and a session are not enough to replace the key slots of a vault.',
    unit: 'account-export#rowOf',
    find: 'encryptionSalt: workspace.encryptionSalt,',
    replace: 'encryptionSalt: workspace.encryptionSalt, verificationHash: workspace.verificationHash,',
    tests: [['test/deep/api/export.spec.ts', 'has no proof of knowledge']],
  },
  {
    name: 'key derived although the slots are hidden',
    promise: 'The client derives nothing from the password of a vault whose slots the service hides.',
    unit: 'unlockByPassword',
    find: 'if (hasSlots) throw new SlotsHidden();',
    replace: '',
    tests: [[VAULT, 'by hiding the slots']],
  },
  {
    name: 'old password deleted before the new one is stored',
    promise: 'At every moment of a change of the password, one of the two opens the vault.',
    unit: 'vault#changePassword',
    find: 'for (const slot of outdated) await slots.delete(slot, vault.proof);',
    replace: '',
    also: [
      {
        find: 'const freshId = await addPassword(vault, fresh, change.kdf);',
        replace: `for (const slot of outdated) await slots.delete(slot, vault.proof);
  const freshId = await addPassword(vault, fresh, change.kdf);`,
      },
    ],
    tests: [['test/deep/client/vault-password.spec.ts', 'leaves a vault']],
  },
  {
    name: 'recovery key stored before it was typed',
    promise: 'A recovery key opens the vault only after its owner has typed it.',
    unit: 'draftRecoveryKey',
    find: '(await formatRecoveryKey(copied)) !== text',
    replace: "text === ''",
    tests: [[VAULT, 'counts when it has been typed']],
  },
  {
    name: 'old workspace deleted unverified',
    promise: 'A rotation deletes the old workspace only after every byte was compared.',
    unit: 'rotation#complete',
    find: 'await copy.verify(plan);',
    replace: '',
    tests: [[ROTATION, 'deletes nothing when']],
  },
  {
    name: 'rotation under a derived key',
    promise: 'A rotation encrypts nothing under a key that is derived from the new password.',
    unit: 'freshVault',
    find: '{ hasSlots: true }',
    replace: '{ hasSlots: false }',
    tests: [[ROTATION, 'encrypts nothing under a derived key']],
  },
];
