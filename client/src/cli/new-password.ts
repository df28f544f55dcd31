import { UsageError } from './errors.js';
import type { Prompt } from './prompt.js';

/** The first password of a vault. @throws UsageError when it is empty */
export const firstPassword = (prompt: Prompt): Promise<string> =>
  notEmpty(prompt.newSecret('Password of the new vault: ', 'VAULT_PASSWORD'));

/** A password that replaces or is added to another. @throws UsageError when it is empty */
export const newPassword = (prompt: Prompt): Promise<string> =>
  notEmpty(prompt.newSecret('New password of the vault: ', 'NEW_VAULT_PASSWORD'));

async function notEmpty(typed: Promise<string>): Promise<string> {
  const password = await typed;
  if (password === '') throw new UsageError('the password of a vault must not be empty');
  return password;
}
