import { CommanderError } from 'commander';
import { ApiError, KdfRefused, RecoveryKeyTypo, SignInRequired, WrongSecret } from '../core/index.js';
import { AlreadyRunning, reasonOf } from '../folder/index.js';
import { EXIT, type ExitCode } from './exit-codes.js';

/** The command line, or a setting, is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A step needs confirmation, but the session is not interactive. */
export class ConfirmationNeeded extends Error {
  override readonly name = 'ConfirmationNeeded';
}

/** No account is signed in for a folder, or a required secret was not given. */
export class SecretNeeded extends Error {
  override readonly name = 'SecretNeeded';
}

/** Ctrl-C or an equivalent during a prompt. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  override readonly message = 'interrupted';
}

const CODES: readonly (readonly [abstract new (...args: never[]) => Error, ExitCode])[] = [
  [UsageError, EXIT.usage],
  [ConfirmationNeeded, EXIT.confirmationNeeded],
  [SecretNeeded, EXIT.signInNeeded],
  [SignInRequired, EXIT.signInNeeded],
  [WrongSecret, EXIT.signInNeeded],
  [RecoveryKeyTypo, EXIT.signInNeeded],
  [KdfRefused, EXIT.signInNeeded],
  [AlreadyRunning, EXIT.busy],
  [Interrupted, EXIT.interrupted],
];

/** The exit code for an error, or for the cause that it wraps. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof ApiError && error.status === 401) return EXIT.signInNeeded;
  const known = CODES.find(([type]) => error instanceof type);
  if (known) return known[1];
  return error instanceof Error && error.cause !== undefined ? exitCodeOf(error.cause) : EXIT.failed;
}

/** One sentence for users. Leaves out the URL in an ApiError's own message, which has an encrypted path. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ApiError && error.status === 401)
    return 'the service does not accept the sign-in: run `cloud-sync init` again';
  return reasonOf(error);
}
