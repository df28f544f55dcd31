import { randomBytes, randomUUID } from 'node:crypto';
import { bodyOf } from '../sync-folder/http.js';
import { type Caller, KeySlots, type PasswordCrypto } from './key-slots.js';

/**
 * Creates a workspace whose encryption is set up and which one password opens. Its master key is random, so until the
 * first slot is stored nobody but this process could open it. Use the workspace only when this has returned: what a
 * crash leaves behind is an empty workspace that nothing refers to, and the next attempt makes another.
 * @returns its id
 */
export async function createVault(
  service: Caller,
  name: string,
  password: string,
  crypto?: PasswordCrypto,
): Promise<string> {
  const call = { method: 'POST', path: '/api/v1/workspaces', json: { name }, repeatable: false } as const;
  const { id } = bodyOf(await service.call(call)) as { id: string };
  const slots = new KeySlots(service, id, crypto);
  const masterKey = Buffer.alloc(32, randomBytes(32));
  const slotId = randomUUID();
  const slot = await slots.crypto.makePasswordSlot(slots.place(slotId), masterKey, password);
  const proof = await slots.setUp(masterKey);
  masterKey.fill(0);
  await slots.put(slotId, slot, proof);
  return slots.workspaceId;
}
