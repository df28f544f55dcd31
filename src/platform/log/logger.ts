import type { LoggerService } from '@nestjs/common';
import { createRequire } from 'node:module';
import { pino, type Logger } from 'pino';
import type PrettyStream from 'pino-pretty';

const CREDENTIAL = /token|key|secret|password/i;

/** A request line without the values of parameters that are credentials by their name, however it is escaped. */
export function redactUrl(url: string): string {
  return url.replace(/([?&;])([^?&;#=\s]*)=[^&;#\s]*/g, (parameter, mark: string, name: string) => {
    const [decoded = ''] = new URLSearchParams(name).keys();
    return CREDENTIAL.test(decoded) ? `${mark}${name}=[redacted]` : parameter;
  });
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
    serializers: {
      req: (request: { method: string; url: string }) => ({
        method: request.method,
        url: redactUrl(request.url),
      }),
      err: describeError,
    },
  };
  destination.on('error', () => undefined); // a reader of the log that goes away must not take the service along
  if (destination.isTTY) return pino(options, prettyPrinter()({ destination, ignore: 'pid,hostname' }));
  return pino(options, destination);
}

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
