import {
  ApiError,
  ContentMismatch,
  DownloadFailed,
  InvalidAnswer,
  NeedsBootstrap as CursorUnknown,
  NetworkError,
  SignInRequired,
} from '../core/index.js';
import { NeedsBootstrap, RemoteUnavailable, TransferFailed } from './errors.js';

/** SyntaxError: an answer that is not JSON, such as the sign-in page of a public network. */
const STOPPING = [ApiError, NetworkError, SignInRequired, InvalidAnswer, ContentMismatch, SyntaxError];

/** Translates an error of the client library to one of the engine, which has it as its cause. Other errors are bugs. */
export function asRemoteError(cause: unknown): unknown {
  if (cause instanceof CursorUnknown) return new NeedsBootstrap(cause.message, { cause });
  if (cause instanceof DownloadFailed) return new TransferFailed(reasonOf(cause.cause as Error), { cause });
  if (!(cause instanceof Error) || !STOPPING.some((known) => cause instanceof known)) return cause;
  return new RemoteUnavailable(reasonOf(cause), { cause });
}

/** A sentence for users. Leaves out the URL in an ApiError's own message, which has an encrypted path. */
export function reasonOf(error: Error): string {
  if (error instanceof ApiError) return `the server refuses with ${error.status}: ${error.error}`;
  if (error instanceof SyntaxError) return 'the server gives an answer that cannot be read';
  return error.message;
}
