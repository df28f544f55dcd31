import { randomBytes } from 'node:crypto';

/** Of 120 random bits, in letters that can be typed. */
export const generatePassword = (): string => randomBytes(15).toString('base64url');

/** What is said to people beside one. */
export const SHOWN_ONCE =
  'It is not shown again. To change it, sign in and send POST /api/auth/change-password.';
