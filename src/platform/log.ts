import type { LoggerService } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { type Logger, pino } from 'pino';
import type PrettyStream from 'pino-pretty';

/** The request that is being processed. */
export interface RequestScope {
  readonly id: string;
  /** The client's network, as returned by `networkKey`. */
  readonly network: string;
  /** Set once the user is known. */
  userId?: string;
}

/**
 * All work for a request, at any depth, runs in its scope: log lines carry its id, and its statements count for its user. Danger:
 * this includes timers and loops that a request happens to start. Wrap the work they do for all users in `exit`; otherwise it
 * waits in the queue of that one user. Only one per process: every AsyncLocalStorage in use slows down each promise.
 */
export const requestScope = new AsyncLocalStorage<RequestScope>();

/** The key for fair scheduling: the user of the request, or its network until the user is known. */
export function clientInScope(): string | undefined {
  const scope = requestScope.getStore();
  return scope?.userId ?? scope?.network;
}

/** `code` and `state` match only as whole names, because harmless names contain them. */
const CREDENTIAL = /token|key|secret|password|client_state|^(?:code|state|session_state)$/i;

/** A needless percent-escape in a URL, such as `%74` for `t`. */
const NEEDLESS_ESCAPE = /%(?:2[de]|3\d|[46][1-9a-f]|5[0-9af]|7[0-9ae])/gi;

/**
 * A personal access token, a key session's token or a JWT, anywhere in a text. A fragment of fewer than 32 characters leaves
 * too much to guess. Danger: it runs on everything that a client sends, so it must stay linear.
 */
const TOKEN = /(?:(?:pat|ks)_[\w-]{32}|eyJ[\w-]{16})[\w-]*(?:\.[\w-]+)*/g;

const MESSAGE = 'message';

/** Decodes percent-escapes in a URL where this does not change its meaning. */
export function plainUrl(url: string): string {
  return url.includes('%') ? url.replace(NEEDLESS_ESCAPE, (one) => decodeURIComponent(one)) : url;
}

/** Redacts the values of parameters whose names suggest credentials in a request line, however the names are escaped. */
export function redactUrl(url: string): string {
  return plainUrl(url).replace(/([?&;])([^?&;#=\s]*)=[^&;#\s]*/g, (parameter, mark: string, name: string) =>
    CREDENTIAL.test(name) ? `${mark}${name}=[redacted]` : parameter,
  );
}

/**
 * JSON lines on stdout, pretty-printed on a terminal. Only the fields named here are logged for a request: no headers and no
 * body, so no credential can be logged by accident.
 */
export function createLogger(level: string, destination: NodeJS.WriteStream = process.stdout): Logger {
  const options = {
    level,
    base: undefined,
    messageKey: MESSAGE,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // Redacts whatever looks like a token in every line, whichever field or message contains it.
    hooks: { streamWrite: (line: string) => line.replace(TOKEN, '[redacted]') },
    mixin: () => {
      const scope = requestScope.getStore();
      return scope ? { requestId: scope.id } : {};
    },
    serializers: {
      req: (request: { method: string; url: string }) => ({
        method: request.method,
        url: redactUrl(request.url),
      }),
      err: describeError,
    },
  };
  destination.off('error', withoutReader).on('error', withoutReader);
  if (destination.isTTY)
    return pino(options, prettyPrinter()({ destination, ignore: 'pid,hostname', messageKey: MESSAGE }));
  return pino(options, destination);
}

/** The service must keep running when the reader of its log disconnects. */
function withoutReader(): void {}

/** Loaded only on a terminal: 10 MB that a service without one does not need. */
function prettyPrinter(): typeof PrettyStream {
  return createRequire(import.meta.url)('pino-pretty') as typeof PrettyStream;
}

/** Name, message, code and stack of an error; not its other fields, which may contain bound parameters. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as NodeJS.ErrnoException;
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) };
  return {
    type: error.name,
    message: redactUrl(error.message),
    ...(code ? { code } : {}),
    ...(error.stack ? { stack: redactUrl(error.stack) } : {}),
    ...cause,
  };
}

/** Writes Nest's own messages to the same log; start-up messages at debug level. */
export class NestLog implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: unknown): void {
    this.logger.debug({ context }, String(message));
  }
  debug(message: unknown, context?: unknown): void {
    this.logger.debug({ context }, String(message));
  }
  verbose(message: unknown, context?: unknown): void {
    this.logger.trace({ context }, String(message));
  }
  warn(message: unknown, context?: unknown): void {
    this.logger.warn({ context }, String(message));
  }
  error(message: unknown, ...rest: unknown[]): void {
    const context = rest.at(-1);
    if (context === 'ExceptionHandler') return; // start-up failed; the caller receives the error itself
    this.logger.error({ err: message instanceof Error ? message : undefined, context }, String(message));
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.logger.fatal({ context: rest.at(-1) }, String(message));
  }
}

/** The service's log; also its injection token. */
export class Log {
  constructor(readonly pino: Logger) {}

  info(fields: object, message: string): void {
    this.pino.info(fields, message);
  }
  warn(fields: object, message: string): void {
    this.pino.warn(fields, message);
  }
  error(fields: object, message: string): void {
    this.pino.error(fields, message);
  }

  /**
   * Runs work whose failure must not affect its caller; a failure is only logged.
   * @returns whether it succeeded
   */
  async bestEffort(what: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (err) {
      this.pino.warn({ err }, `could not ${what}`);
      return false;
    }
  }
}
