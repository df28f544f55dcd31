import { OperatorError } from '../../platform/config/index.js';

const UNWRITABLE = new Set([
  'ENOSPC',
  'EDQUOT',
  'EFBIG',
  'EIO',
  'EROFS',
  'EACCES',
  'EPERM',
  'EEXIST',
  'ENOENT',
  'ENOTDIR',
]);
const UNREADABLE = new Set(['ENOENT', 'EISDIR', 'ENOTDIR', 'EIO', 'EACCES', 'EPERM', 'NoSuchKey']);

/** Error codes of zlib for corrupt data, and of PostgreSQL for invalid rows (classes 22 and 23). */
const DAMAGE = /^(?:Z_[A-Z_]+|2[23][0-9A-Z]{3})$/;

/**
 * Turns failures to write a backup into operator errors, because the operator can fix them; other errors are returned
 * unchanged.
 * @param isTidied whether the partial backup is removed without the operator
 */
export function asUnwritable(directory: string, error: unknown, isTidied: boolean): unknown {
  if (!UNWRITABLE.has(codeOf(error))) return error;
  const next = isTidied ? 'what was written of it is removed' : 'remove the partial backup and try again';
  const message = `The backup cannot be written to ${directory} (${codeOf(error)}); ${next}.`;
  return new OperatorError(message, { cause: error });
}

/** The same for a part of a backup that is missing or corrupt. */
export function asDamaged(part: string, error: unknown): unknown {
  const code = codeOf(error);
  if (!UNREADABLE.has(code) && !DAMAGE.test(code)) return error;
  return new OperatorError(`The backup's ${part} is damaged or cannot be read (${code}).`, { cause: error });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
