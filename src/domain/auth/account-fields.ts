import { APIError } from 'better-auth/api';
import { asName, NAME_RULE } from '../../platform/http/index.js';
import { EMAIL_RULE, isEmailAddress } from './email-address.js';

const UNFIT = `email ${EMAIL_RULE}; name ${NAME_RULE}`;

interface Fields {
  readonly email?: string | undefined;
  readonly name?: unknown;
  readonly image?: unknown;
}

export const MAX_IMAGE_LENGTH = 2_048;

/** Visible ASCII: the parser of URLs would overlook white space. */
const IMAGE = /^https:\/\/[\x21-\x7e]+$/i;

/** Clients may show it as a picture or follow it as a link. */
const isImage = (image: string): boolean =>
  image.length <= MAX_IMAGE_LENGTH && IMAGE.test(image) && URL.canParse(image);

/** The library does not limit addresses, accepts any type as a name or an image, and would store an object as its JSON. */
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
