import { OperatorError } from './operator-error.js';

/** Turns an error of the file system into a sentence with its cure; any other error comes back as it is. */
export function explainedByDataDir(error: unknown, directory: string): unknown {
  const sentence = new Map(Object.entries(sentences(directory))).get(
    (error as NodeJS.ErrnoException).code ?? '',
  );
  return sentence === undefined ? error : new OperatorError(sentence, { cause: error });
}

export function diskFull(directory: string): OperatorError {
  return new OperatorError(sentences(directory).ENOSPC);
}

function sentences(directory: string) {
  const denied = `${directory} cannot be read and written by this user; change its owner, or set DATA_DIR to a directory of your own.`;
  const file = `${directory} is a file or lies below one; set DATA_DIR to a directory.`;
  const full = `The disk that holds ${directory} is full; free some space or set DATA_DIR to a directory on another disk.`;
  return {
    EACCES: denied,
    EPERM: denied,
    ENOTDIR: file,
    EEXIST: file,
    ENOENT: `${directory} cannot be made; set DATA_DIR to a directory that can be written.`,
    EROFS: `${directory} is on a read-only file system; set DATA_DIR to a directory that can be written.`,
    ENOSPC: full,
    EDQUOT: full,
    EIO: `The disk that holds ${directory} does not work; mend it, or set DATA_DIR to a directory on another disk.`,
  };
}
