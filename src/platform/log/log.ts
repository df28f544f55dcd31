import { type DynamicModule, Global, Module } from '@nestjs/common';
import type { Logger } from 'pino';

/** Injection token and face of the service's log. */
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

  /** Runs work whose failure must not fail its caller: it is logged, nothing more. @returns whether it succeeded */
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

@Global()
@Module({})
export class LogModule {
  static with(log: Log): DynamicModule {
    return { module: LogModule, providers: [{ provide: Log, useValue: log }], exports: [Log] };
  }
}
