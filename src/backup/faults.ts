import { OperatorError } from '../config/index.js';

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
const UNREADABLE = new Set(['ENOENT', 'EISDIR', 'ENOTDIR', 'EIO', 'EACCES', 'EPERM']);

/** What zlib says of bytes that are not as it wrote them, and PostgreSQL of rows that cannot be (classes 22 and 23). */
const DAMAGE = /^(?:Z_[A-Z_]+|2[23][0-9A-Z]{3})$/;

/** A backup that cannot be written where it should be is the operator's to cure; other errors stay what they are. */
export function asUnwritable(directory: string, error: unknown): unknown {
  if (!UNWRITABLE.has(codeOf(error))) return error;
  const message = `The backup cannot be written to ${directory} (${codeOf(error)}); remove what there is of it and try again.`;
  return new OperatorError(message, { cause: error });
}

/** As above, of a part of a backup that is not there or not what was written. */
export function asDamaged(part: string, error: unknown): unknown {
  const code = codeOf(error);
  if (!UNREADABLE.has(code) && !DAMAGE.test(code)) return error;
  return new OperatorError(`The backup's ${part} is damaged or cannot be read (${code}).`, { cause: error });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
