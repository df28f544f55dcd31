import { APIError } from 'better-auth/api';
import { Matches } from 'class-validator';
import type { Repository } from 'typeorm';
import type { Tx } from '../../platform/database/index.js';
import { asName, NAME_RULE, Unauthorized } from '../../platform/http/index.js';
import { type AuthAccount, credentialOf, UserEntity } from './auth.entities.js';

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

/** Whether an account may have the address; also accepts addresses older than the rule above. */
export const isMailable = (text: string): boolean =>
  text.length <= MAX_EMAIL && /^[^\s@\p{Cc}<>]+@[^\s@\p{Cc}<>]+$/u.test(text);

const UNFIT = `email ${EMAIL_RULE}; name ${NAME_RULE}`;

interface Fields {
  readonly email?: string | undefined;
  readonly name?: unknown;
  readonly image?: unknown;
}

export const MAX_IMAGE_LENGTH = 2_048;

/** Visible ASCII only: the URL parser ignores white space. */
const IMAGE = /^https:\/\/[\x21-\x7e]+$/i;

/** Clients may show it as a picture or follow it as a link. */
const isImage = (image: string): boolean =>
  image.length <= MAX_IMAGE_LENGTH && IMAGE.test(image) && URL.canParse(image);

/**
 * Validates the fields and normalizes the name. The library does not limit addresses, accepts any type as a name or an image, and
 * would store an object as JSON. @throws APIError
 */
export function fit({ email, name, image = null }: Fields): Promise<{ data: { name?: string } }> {
  if (image !== null && !(typeof image === 'string' && isImage(image)))
    throw new APIError('BAD_REQUEST', {
      message: `image must be an https URL of at most ${MAX_IMAGE_LENGTH} characters, or null`,
    });
  const stored = asName(name);
  const isFit =
    (email === undefined || isEmailAddress(email)) && (name === undefined || stored !== undefined);
  if (!isFit) throw new APIError('BAD_REQUEST', { message: UNFIT });
  return Promise.resolve({ data: stored === undefined ? {} : { name: stored } });
}

/** Inserts the row with the password of a user without one. */
export async function addPassword(
  accounts: Repository<AuthAccount>,
  userId: string,
  password: string,
  now: Date,
): Promise<void> {
  const row = { ...credentialOf(userId), accountId: userId, password, createdAt: now, updatedAt: now };
  await accounts.insert(row);
}

/**
 * Locks the user's row: waits for concurrent transactions that create something for the user, and blocks new ones. @returns
 * whether the user exists
 */
export async function lockUser(tx: Tx, userId: string): Promise<boolean> {
  const users = tx.manager.getRepository(UserEntity);
  const locked = {
    select: { id: true },
    where: { id: userId },
    lock: { mode: 'pessimistic_write' },
  } as const;
  return (await users.findOne(locked)) !== null;
}

/**
 * Like `lockUser`, for a request of the user: counts made under the lock stay true until the commit. @throws Unauthorized when
 * the account has just been deleted
 */
export async function lockOwnUser(tx: Tx, userId: string): Promise<void> {
  if (!(await lockUser(tx, userId))) throw new Unauthorized();
}
