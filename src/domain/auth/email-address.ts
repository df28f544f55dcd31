import { Matches } from 'class-validator';

/** Longer addresses do not fit the index. */
const MAX_EMAIL = 254;

/** The error for an invalid address, without its subject `email`. */
export const EMAIL_RULE = `must be an email address in ASCII with at most ${MAX_EMAIL} characters`;

/**
 * Addresses that the identity library accepts at sign-in and that can be stored. The length is checked first, so that long input
 * is cheap to reject.
 */
const EMAIL = new RegExp(
  `^(?=.{1,${MAX_EMAIL}}$)(?!\\.)(?!.*\\.\\.)[A-Za-z0-9_'+.-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9-]*\\.)+[A-Za-z]{2,}$`,
);

/**
 * The only rule for the email address of a new account: for sign-up, dev-login, the pages and the admin command. Accounts older
 * than the rule may have other addresses, and can still be found by them.
 */
export const isEmailAddress = (text: string): boolean => EMAIL.test(text);

/** The rule as a validator for a body field. */
export const IsEmailAddress = (): PropertyDecorator => Matches(EMAIL, { message: `$property ${EMAIL_RULE}` });

/** An address that an account may have, also one older than the rule above. */
export const isMailable = (text: string): boolean =>
  text.length <= MAX_EMAIL && /^[^\s@\p{Cc}<>]+@[^\s@\p{Cc}<>]+$/u.test(text);
