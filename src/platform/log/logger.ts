import type { LoggerService } from '@nestjs/common';
import { createRequire } from 'node:module';
import { pino, type Logger } from 'pino';
import type PrettyStream from 'pino-pretty';
import { requestScope } from './request-scope.js';

const CREDENTIAL = /token|key|secret|password|client_state/i;

/** An escape that a URL can do without, such as `%74` for `t`. */
const NEEDLESS_ESCAPE = /%(?:2[de]|3\d|[46][1-9a-f]|5[0-9af]|7[0-9ae])/gi;

/**
 * A personal access token, a key session's, or a JWT, wherever it stands. What is shorter than 32 characters leaves
 * too much to guess. Danger: it meets whatever a client sends, so it must stay linear.
 */
const TOKEN = /(?:(?:pat|ks)_[\w-]{32}|eyJ[\w-]{16})[\w-]*(?:\.[\w-]+)*/g;

/** A URL spelt as plainly as it can be without meaning something else. */
export function plainUrl(url: string): string {
  return url.includes('%') ? url.replace(NEEDLESS_ESCAPE, (one) => decodeURIComponent(one)) : url;
}

/** A request line without the values of parameters that are credentials by their name, however it is escaped. */
export function redactUrl(url: string): string {
  return plainUrl(url).replace(/([?&;])([^?&;#=\s]*)=[^&;#\s]*/g, (parameter, mark: string, name: string) =>
    CREDENTIAL.test(name) ? `${mark}${name}=[redacted]` : parameter,
  );
}

/**
 * JSON lines on stdout, pretty on a terminal. Only the fields named here leave a request: no header, no body,
 * so no credential can be logged by accident.
 */
export function createLogger(level: string, destination: NodeJS.WriteStream = process.stdout): Logger {
  const options = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // What looks like a token leaves in no line, whichever field or message it got into.
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
  if (destination.isTTY) return pino(options, prettyPrinter()({ destination, ignore: 'pid,hostname' }));
  return pino(options, destination);
}

/** A reader of the log that goes away must not take the service along. */
function withoutReader(): void {}

/** Loaded when somebody looks: 10 MB that a service on its own does without. */
function prettyPrinter(): typeof PrettyStream {
  return createRequire(import.meta.url)('pino-pretty') as typeof PrettyStream;
}

/** Name, message, code and stack of an error: not its other fields, which can hold bound parameters. */
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

/** Nest's own messages, through the same log: its start-up chatter at debug. */
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
    if (context === 'ExceptionHandler') return; // the start has failed, and who started it gets the error itself
    this.logger.error({ err: message instanceof Error ? message : undefined, context }, String(message));
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.logger.fatal({ context: rest.at(-1) }, String(message));
  }
}
