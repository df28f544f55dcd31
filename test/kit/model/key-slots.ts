import { kdfOf, wrappedKeyOf } from '../key-slots.js';
import { type Answer, answered, OK, refused, type Rule } from './operations.js';
import { type KeySlot, workspaceIn } from './state.js';
import { hashOf, timeOf } from './words.js';

const MOST_SLOTS = 16;
const MOST_PASSWORDS = 4;

/** The salt of every vault; the proof stands for the master key. */
export const SALT = 'ab'.repeat(32);
export const PROOF = hashOf('the master key');
export const GUESS = hashOf('a guess');

export const setUpEncryption: Rule<'set up encryption'> = (state, { workspace: name }, { now }) => {
  const workspace = workspaceIn(state, name);
  if (workspace.isSetUp) return refused(409);
  workspace.isSetUp = true;
  workspace.updatedAt = now;
  return OK;
};

/** Oldest first. */
export const listSlots: Rule<'list slots'> = (state, { workspace: name }) => {
  const { isSetUp, slots } = workspaceIn(state, name);
  const salt = isSetUp ? SALT : null;
  const ordered = slots.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  return answered({ encryptionSalt: salt, verificationSalt: salt, slots: ordered.map(told) });
};

export const putSlot: Rule<'put slot'> = (state, operation, { now }) => {
  const { isSetUp, slots } = workspaceIn(state, operation.workspace);
  const { slot: id, mark: kind, content, isGuess } = operation;
  const existing = slots.find((one) => one.id === id);
  const refusal = refusalOf(isSetUp, isGuess) ?? missed(operation.ifMatch, existing);
  if (refusal) return refusal;
  const others = slots.filter((one) => one !== existing);
  const passwords = others.filter((one) => one.kind === 'password');
  if (others.length >= MOST_SLOTS || (kind === 'password' && passwords.length >= MOST_PASSWORDS))
    return refused(409);
  if (!existing) {
    const slot = { id, kind, content, createdAt: now, updatedAt: now };
    slots.push(slot);
    return answered(told(slot), 201);
  }
  Object.assign(existing, { kind, content, updatedAt: Math.max(now, existing.updatedAt + 1) });
  return answered(told(existing));
};

/** Never removes the last slot. */
export const deleteSlot: Rule<'delete slot'> = (state, operation) => {
  const { isSetUp, slots } = workspaceIn(state, operation.workspace);
  const index = slots.findIndex(({ id }) => id === operation.slot);
  const refusal = refusalOf(isSetUp, operation.isGuess);
  if (refusal) return refusal;
  if (index < 0) return refused(404);
  const precondition = missed(operation.ifMatch, slots[index]);
  if (precondition) return precondition;
  if (slots.length === 1) return refused(409);
  slots.splice(index, 1);
  return OK;
};

function refusalOf(isSetUp: boolean, isGuess: boolean): Answer | undefined {
  if (!isSetUp) return refused(409);
  return isGuess ? refused(403) : undefined;
}

function missed(ifMatch: string | null, existing: KeySlot | undefined): Answer | undefined {
  const isMet = ifMatch === null || (existing !== undefined && ifMatch === timeOf(existing.updatedAt));
  return isMet ? undefined : refused(412);
}

const told = ({ id, kind, content, createdAt, updatedAt }: KeySlot): object => ({
  ...{ id, kind, label: content, kdf: kdfOf(kind), wrappedKey: wrappedKeyOf(content) },
  ...{ createdAt: timeOf(createdAt), updatedAt: timeOf(updatedAt) },
});
