import { ValidateBy } from 'class-validator';
import { readUrl } from './read-url.js';

/** A URL that can be read; the host may be left out, as in postgres://user@/database?host=/socket. */
export function ServerUrl(): PropertyDecorator {
  return ValidateBy({
    name: 'serverUrl',
    validator: {
      validate: (url: string) => (readUrl(url) ?? readUrl(url.replace('@/', '@host/'))) !== undefined,
      defaultMessage: () =>
        '$property cannot be read; encode what is special in its user or password, and check its port',
    },
  });
}
