import { APIError } from 'better-auth/api';
import { asName, NAME_RULE } from '../platform/http/index.js';
import { EMAIL_RULE, isEmailAddress } from './email-address.js';

const UNFIT = `email ${EMAIL_RULE}; name ${NAME_RULE}`;

interface Fields {
  readonly email?: string | undefined;
  readonly name?: unknown;
  readonly image?: unknown;
}

/** The library does not limit addresses, accepts any type as a name or an image, and would store an object as its JSON. */
export function fit({ email, name, image = null }: Fields): Promise<{ data: { name?: string } }> {
  if (image !== null && typeof image !== 'string')
    throw new APIError('BAD_REQUEST', { message: 'image must be text or null' });
  const stored = asName(name);
  const isFit =
    (email === undefined || isEmailAddress(email)) && (name === undefined || stored !== undefined);
  if (!isFit) throw new APIError('BAD_REQUEST', { message: UNFIT });
  return Promise.resolve({ data: stored === undefined ? {} : { name: stored } });
}
