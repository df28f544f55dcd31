import { ValidateBy } from 'class-validator';
import { readUrl } from './read-url.js';

/** A URL that can be read; the host may be left out, as in postgres://user@/database?host=/socket. */
export function ServerUrl(): PropertyDecorator {
  return ValidateBy({
    name: 'serverUrl',
    validator: {
      validate: (text: string) => {
        const url = readUrl(text) ?? readUrl(text.replace('@/', '@host/'));
        return url !== undefined && [url.username, url.password, url.host, url.pathname].every(isEncoded);
      },
      defaultMessage: () =>
        '$property cannot be read; encode what is special in its user or password, and check its port',
    },
  });
}

/** Whether every `%` in it stands for a character of UTF-8. */
function isEncoded(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
