import { randomBytes } from 'node:crypto';

/** Settings of the identity handler that pages and documents mention. */
export const ONE_TIME_TOKEN_MINUTES = 3;
export const JWT_MINUTES = 15;
export const PASSWORD_LENGTH = { min: 10, max: 128 } as const;

/** Why a password cannot be chosen; uses the identity library's codes where it has them. */
export type PasswordFault = 'PASSWORD_TOO_SHORT' | 'PASSWORD_TOO_LONG' | 'PASSWORD_TOO_COMMON';

export const PASSWORD_FAULTS: Readonly<Record<PasswordFault, string>> = {
  PASSWORD_TOO_SHORT: `The password must have at least ${PASSWORD_LENGTH.min} characters.`,
  PASSWORD_TOO_LONG: `The password must have at most ${PASSWORD_LENGTH.max} characters.`,
  PASSWORD_TOO_COMMON: 'This password is too common. Choose another.',
};

/** Generates 120 random bits in characters that can be typed. */
export const generatePassword = (): string => randomBytes(15).toString('base64url');

let common: Promise<ReadonlySet<string>> | undefined;

/**
 * What is wrong with a new password, if anything. Only for new passwords: passwords chosen under earlier rules stay valid.
 * Whether a password is common does not depend on case.
 */
export async function faultOfPassword(password: string): Promise<PasswordFault | undefined> {
  if (password.length < PASSWORD_LENGTH.min) return 'PASSWORD_TOO_SHORT';
  if (password.length > PASSWORD_LENGTH.max) return 'PASSWORD_TOO_LONG';
  common ??= commonPasswords();
  return (await common).has(password.normalize('NFKC').toLowerCase()) ? 'PASSWORD_TOO_COMMON' : undefined;
}

/** The 1,500 of the 49,000 most common passwords that are long enough to be chosen. Loaded at the first check. */
async function commonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const all = dictionary['passwords-common'];
  return new Set(all.filter(({ length }) => length >= PASSWORD_LENGTH.min));
}
