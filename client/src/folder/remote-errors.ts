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

/** A SyntaxError is an answer that is no JSON, as the sign-in page of a foreign network gives it. */
const STOPPING = [ApiError, NetworkError, SignInRequired, InvalidAnswer, ContentMismatch, SyntaxError];

/** What the library throws, as the engine knows it; the cause says more. What is neither is a fault of this program. */
export function asRemoteError(cause: unknown): unknown {
  if (cause instanceof CursorUnknown) return new NeedsBootstrap(cause.message, { cause });
  if (cause instanceof DownloadFailed) return new TransferFailed(reasonOf(cause.cause as Error), { cause });
  if (!(cause instanceof Error) || !STOPPING.some((known) => cause instanceof known)) return cause;
  return new RemoteUnavailable(reasonOf(cause), { cause });
}

/** A sentence for people. The address in an ApiError's own message is an encrypted path. */
export function reasonOf(error: Error): string {
  if (error instanceof ApiError) return `the server refuses with ${error.status}: ${error.error}`;
  if (error instanceof SyntaxError) return 'the server gives an answer that cannot be read';
  return error.message;
}
