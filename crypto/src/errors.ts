/** The bytes cannot be decrypted: wrong key, altered, moved to another path, truncated or of an unknown version. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
}

/** A path or name that a vault cannot store. The message gives the reason without repeating the path. */
export class InvalidPathError extends Error {
  override readonly name = 'InvalidPathError';
}

/** Whether bytes or a name cannot be decrypted: other keys, or altered. */
export const isUnopened = (error: unknown): error is DecryptionError | InvalidPathError =>
  error instanceof DecryptionError || error instanceof InvalidPathError;

/** Why the parameters of a key slot are refused. */
export type KdfRefusal = 'too weak' | 'too expensive' | 'malformed';

/**
 * The parameters of a key slot must not be used. A correct client never stores such ones: the service may want to guess the
 * password cheaply, or to stall the device.
 */
export class KdfRefused extends Error {
  override readonly name = 'KdfRefused';

  constructor(readonly reason: KdfRefusal) {
    super(`the parameters of the key slot are ${reason}`);
  }
}

/** The text is not a recovery key: it was copied incorrectly. The message does not repeat it. */
export class RecoveryKeyTypo extends Error {
  override readonly name = 'RecoveryKeyTypo';
}
