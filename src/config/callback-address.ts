import { ValidateBy, type ValidationArguments } from 'class-validator';
import { readUrl } from './read-url.js';

/** An address that one-time tokens are sent to; to stand above `@IsUrl`, which is checked before it. */
export function CallbackAddress(): PropertyDecorator {
  return ValidateBy({
    name: 'callbackAddress',
    validator: {
      validate: (_, args) => faultOf(args) === undefined,
      defaultMessage: (args) => `$property must be ${faultOf(args)}`,
    },
  });
}

/** What it must be and is not. */
function faultOf(args?: ValidationArguments): string | undefined {
  const { value: address, object } = args as { value: string; object: { isProduction: boolean } };
  const url = readUrl(address);
  if (!url) return 'a URL address'; // @IsUrl lets 256.256.256.256 pass
  const { protocol, hostname, username, password } = url;
  const isLocal = protocol === 'http:' && hostname === 'localhost' && !object.isProduction;
  if (protocol !== 'https:' && !isLocal)
    return 'an https address (http://localhost is allowed in development only)';
  if (username || password || address.includes('#')) return 'an address without user, password and fragment';
  return undefined;
}
