import { Matches } from 'class-validator';

/** Longer ones do not fit the index. */
const MAX_EMAIL = 254;

/** The error for an invalid address, without its subject `email`. */
export const EMAIL_RULE = `must be an email address in ASCII with at most ${MAX_EMAIL} characters`;

/** Addresses that the identity library accepts at sign-in and that can be stored. The length comes first, so that a long text costs nothing. */
const EMAIL = new RegExp(
  `^(?=.{1,${MAX_EMAIL}}$)(?!\\.)(?!.*\\.\\.)[A-Za-z0-9_'+.-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9-]*\\.)+[A-Za-z]{2,}$`,
);

/**
 * The one rule of what the address of a new account may be: for sign-up, dev-login, the pages and the admin command.
 * Accounts from before the rule may have others, and are found by them all the same.
 */
export const isEmailAddress = (text: string): boolean => EMAIL.test(text);

/** The rule for a field of a request's body. */
export const IsEmailAddress = (): PropertyDecorator => Matches(EMAIL, { message: `$property ${EMAIL_RULE}` });
